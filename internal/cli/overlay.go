package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// overlayFlags are those of `argocd app set` and `argocd app create` about Kustomize (setKustomizeOpt in cmd/util/app.go of argo-cd).
type overlayFlags struct {
	wanted                                overlay.Change
	images, replicas, labels, annotations []string
}

func (o *overlayFlags) add(s *pflag.FlagSet) {
	optionalFlag(s, &o.wanted.NamePrefix, "nameprefix", "prefix of the objects' names")
	optionalFlag(s, &o.wanted.NameSuffix, "namesuffix", "suffix of the objects' names")
	optionalFlag(s, &o.wanted.Namespace, "kustomize-namespace", "namespace of the objects, whatever the files say")
	optionalFlag(s, &o.wanted.Version, "kustomize-version", "kept for Argo CD, and without effect in truce")
	s.StringArrayVar(&o.images, "kustomize-image", nil, "override an image: NAME:TAG, NAME@DIGEST, NAME=NEWNAME[:TAG][@DIGEST] (repeatable)")
	s.StringArrayVar(&o.replicas, "kustomize-replica", nil, "override a number of replicas: NAME=COUNT (repeatable)")
	s.StringArrayVar(&o.labels, "kustomize-common-label", nil, "label all objects instead of as before: KEY=VALUE (repeatable)")
	s.StringArrayVar(&o.annotations, "kustomize-common-annotation", nil, "annotate all objects instead of as before: KEY=VALUE (repeatable)")
	optionalFlag(s, &o.wanted.WithoutSelectors, "kustomize-label-without-selector", "keep these labels out of selectors and templates")
	optionalFlag(s, &o.wanted.Templates, "kustomize-label-include-templates", "put them into templates all the same")
	optionalFlag(s, &o.wanted.ForceLabels, "kustomize-force-common-label", "let them replace the kustomization's own")
	optionalFlag(s, &o.wanted.ForceAnnotations, "kustomize-force-common-annotation", "let the annotations replace the kustomization's own")
	optionalFlag(s, &o.wanted.Optional, "ignore-missing-components", "leave out components that are not there")
}

// change is what the flags ask for.
func (o *overlayFlags) change() (overlay.Change, error) {
	out := o.wanted
	for _, text := range o.images {
		m, err := overlay.ParseImage(text)
		if err != nil {
			return out, usageError("--kustomize-image %q: %v", text, err)
		}
		out.Images = append(out.Images, m)
	}
	for _, text := range o.replicas {
		r, err := overlay.ParseReplica(text)
		if err != nil {
			return out, usageError("--kustomize-replica %q: %v", text, err)
		}
		out.Replicas = append(out.Replicas, r)
	}
	var err error
	if out.Labels, err = parseKeyValues("--kustomize-common-label", o.labels); err != nil {
		return out, err
	}
	out.Annotations, err = parseKeyValues("--kustomize-common-annotation", o.annotations)
	return out, err
}

// parseKeyValues reads KEY=VALUE, nil for none.
func parseKeyValues(flag string, texts []string) (map[string]string, error) {
	var out map[string]string
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, usageError("%s %q: want KEY=VALUE", flag, text)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out, nil
}
