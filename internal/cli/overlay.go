package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// overlayFlags are those of `argocd app set` and `argocd app create` about Kustomize (setKustomizeOpt in cmd/util/app.go of argo-cd).
type overlayFlags struct {
	prefix, suffix, namespace, version     string
	images, replicas, labels, annotations  []string
	without, templates                     bool
	forceLabels, forceAnnotations, missing bool
}

func (o *overlayFlags) add(s *pflag.FlagSet) {
	s.StringVar(&o.prefix, "nameprefix", "", "prefix of the objects' names")
	s.StringVar(&o.suffix, "namesuffix", "", "suffix of the objects' names")
	s.StringVar(&o.namespace, "kustomize-namespace", "", "namespace of the objects, whatever the files say")
	s.StringVar(&o.version, "kustomize-version", "", "kept for Argo CD, and without effect in truce")
	s.StringArrayVar(&o.images, "kustomize-image", nil, "override an image: NAME:TAG, NAME@DIGEST, NAME=NEWNAME[:TAG][@DIGEST] (repeatable)")
	s.StringArrayVar(&o.replicas, "kustomize-replica", nil, "override a number of replicas: NAME=COUNT (repeatable)")
	s.StringArrayVar(&o.labels, "kustomize-common-label", nil, "label all objects instead of as before: KEY=VALUE (repeatable)")
	s.StringArrayVar(&o.annotations, "kustomize-common-annotation", nil, "annotate all objects instead of as before: KEY=VALUE (repeatable)")
	s.BoolVar(&o.without, "kustomize-label-without-selector", false, "keep these labels out of selectors and templates")
	s.BoolVar(&o.templates, "kustomize-label-include-templates", false, "put them into templates all the same")
	s.BoolVar(&o.forceLabels, "kustomize-force-common-label", false, "let them replace the kustomization's own")
	s.BoolVar(&o.forceAnnotations, "kustomize-force-common-annotation", false, "let the annotations replace the kustomization's own")
	s.BoolVar(&o.missing, "ignore-missing-components", false, "leave out components that are not there")
}

// change is what the flags ask for.
func (o *overlayFlags) change(s *pflag.FlagSet) (overlay.Change, error) {
	out := overlay.Change{
		NamePrefix: changedFlag(s, "nameprefix", o.prefix), NameSuffix: changedFlag(s, "namesuffix", o.suffix),
		Namespace: changedFlag(s, "kustomize-namespace", o.namespace), Version: changedFlag(s, "kustomize-version", o.version),
		WithoutSelectors: changedFlag(s, "kustomize-label-without-selector", o.without),
		Templates:        changedFlag(s, "kustomize-label-include-templates", o.templates),
		ForceLabels:      changedFlag(s, "kustomize-force-common-label", o.forceLabels),
		ForceAnnotations: changedFlag(s, "kustomize-force-common-annotation", o.forceAnnotations),
		Optional:         changedFlag(s, "ignore-missing-components", o.missing),
	}
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
