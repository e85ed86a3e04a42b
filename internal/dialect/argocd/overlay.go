package argocd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// kustomizeSource is Argo CD's ApplicationSourceKustomize.
type kustomizeSource struct {
	NamePrefix                string             `json:"namePrefix,omitempty"`
	NameSuffix                string             `json:"nameSuffix,omitempty"`
	Images                    []string           `json:"images,omitempty"`
	Replicas                  []kustomizeReplica `json:"replicas,omitempty"`
	Namespace                 string             `json:"namespace,omitempty"`
	Patches                   []kustomizePatch   `json:"patches,omitempty"`
	Components                []string           `json:"components,omitempty"`
	IgnoreMissingComponents   bool               `json:"ignoreMissingComponents,omitempty"`
	CommonLabels              map[string]string  `json:"commonLabels,omitempty"`
	LabelWithoutSelector      bool               `json:"labelWithoutSelector,omitempty"`
	LabelIncludeTemplates     bool               `json:"labelIncludeTemplates,omitempty"`
	ForceCommonLabels         bool               `json:"forceCommonLabels,omitempty"`
	CommonAnnotations         map[string]string  `json:"commonAnnotations,omitempty"`
	CommonAnnotationsEnvsubst bool               `json:"commonAnnotationsEnvsubst,omitempty"`
	ForceCommonAnnotations    bool               `json:"forceCommonAnnotations,omitempty"`
	Version                   string             `json:"version,omitempty"`
	KubeVersion               string             `json:"kubeVersion,omitempty"`
	APIVersions               []string           `json:"apiVersions,omitempty"`
}

type kustomizeReplica struct {
	Name  string          `json:"name"`
	Count json.RawMessage `json:"count"` // a number, or a text that is one
}

type kustomizePatch struct {
	Path    string           `json:"path,omitempty"`
	Patch   string           `json:"patch,omitempty"`
	Target  *kustomizeTarget `json:"target,omitempty"`
	Options map[string]bool  `json:"options,omitempty"`
}

// kustomizeTarget selects the objects of a patch.
type kustomizeTarget struct {
	Group              string `json:"group,omitempty"`
	Version            string `json:"version,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Name               string `json:"name,omitempty"`
	Namespace          string `json:"namespace,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// overlay reads what is laid over the kustomization before it is built (util/kustomize of argo-cd).
func (r *reading) overlay(a *app.App, at string, s applicationSource) {
	k := s.Kustomize
	if k == nil {
		k = &kustomizeSource{}
	}
	a.Inflated = &release.Request{KubeVersion: k.KubeVersion, APIVersions: k.APIVersions}
	if s.Kustomize == nil {
		return
	}
	at += ".kustomize"
	a.Namespace = r.Namespace(at+".namespace", k.Namespace)
	vars := variables{reading: r, app: a, source: s}
	o := overlay.Overlay{
		Within: at, NamespaceBy: "namespace", NamePrefix: k.NamePrefix, NameSuffix: k.NameSuffix,
		Components: r.components(at, k), Optional: k.IgnoreMissingComponents,
		Labels: overlay.Labels{
			Pairs:     vars.all(at+".commonLabels", k.CommonLabels),
			Selectors: !k.LabelWithoutSelector, Templates: k.LabelIncludeTemplates, Force: k.ForceCommonLabels,
		},
		Annotations: overlay.Annotations{Pairs: k.CommonAnnotations, Force: k.ForceCommonAnnotations},
	}
	if k.CommonAnnotationsEnvsubst {
		o.Annotations.Pairs = vars.all(at+".commonAnnotations", k.CommonAnnotations)
	}
	for _, p := range k.Patches {
		o.Patches = append(o.Patches, patchEntry(p))
	}
	r.images(&o, k, vars)
	r.replicas(&o, k)
	r.CheckOverlay(o)
	r.idle(at, k)
	a.Overlay = o
}

// components are those of an Application. One at an address is no directory, which ignoreMissingComponents leaves out as Argo CD does.
func (r *reading) components(at string, k *kustomizeSource) []string {
	if !k.IgnoreMissingComponents {
		return k.Components
	}
	var out []string
	for i, c := range k.Components {
		if upstream.IsRemote(c) {
			r.Note("%s.components[%d]: it is at an address, and left out by ignoreMissingComponents, as by Argo CD", at, i)
			continue
		}
		out = append(out, c)
	}
	return out
}

func (r *reading) images(o *overlay.Overlay, k *kustomizeSource, vars variables) {
	for i, text := range k.Images {
		at := o.Entry("images", i)
		m, err := overlay.ParseImage(vars.expand(at, text))
		if err != nil {
			m.Name = "none" // one word about it is enough
			r.Problem(at, "%s", err)
		}
		o.Images = append(o.Images, m)
	}
}

func (r *reading) replicas(o *overlay.Overlay, k *kustomizeSource) {
	for i, c := range k.Replicas {
		text := string(c.Count)
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		n, err := overlay.ParseCount(text)
		if err != nil {
			r.Problem(o.Entry("replicas", i)+".count", "%s", err)
		}
		o.Replicas = append(o.Replicas, overlay.Replica{Name: c.Name, Count: n})
	}
}

// idle says which options change nothing here.
func (r *reading) idle(at string, k *kustomizeSource) {
	if k.Version != "" {
		r.Note("%s.version has no effect: truce builds with the Kustomize that it is made with", at)
	}
}

// patchEntry is an entry of a kustomization's patches: what the user left out is left out.
func patchEntry(p kustomizePatch) map[string]any {
	var out map[string]any
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return map[string]any{} // texts and booleans always encode
	}
	return out
}

// revisions are the variables of Argo CD's build environment that are known when the files are, and how many digits they have (util/argo of
// argo-cd, newEnv).
var revisions = map[string]int{"ARGOCD_APP_REVISION": 0, "ARGOCD_APP_REVISION_SHORT": 7, "ARGOCD_APP_REVISION_SHORT_8": 8}

// variables are those of Argo CD's build environment.
type variables struct {
	reading *reading
	app     *app.App
	source  applicationSource
}

func (v variables) all(at string, texts map[string]string) map[string]string {
	out := maps.Clone(texts)
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		out[k] = v.expand(fmt.Sprintf("%s[%s]", at, k), texts[k])
	}
	return out
}

// expand puts in $NAME and ${NAME}; $$ is a dollar. An unknown name is the empty text, as in Argo CD.
func (v variables) expand(at, text string) string {
	return os.Expand(text, func(name string) string {
		switch name {
		case "$":
			return "$"
		case "ARGOCD_APP_NAME":
			return v.app.Key.Name
		case "ARGOCD_APP_NAMESPACE":
			return v.app.DefaultNamespace.Name
		case "ARGOCD_APP_PROJECT_NAME":
			return v.app.Member.Project
		case "ARGOCD_APP_SOURCE_REPO_URL":
			address, _, _ := strings.Cut(v.app.Source.Name, "#") // which holds no credentials, and distinguishes them behind a #
			return address
		case "ARGOCD_APP_SOURCE_PATH":
			return v.source.Path
		case "ARGOCD_APP_SOURCE_TARGET_REVISION":
			return v.source.TargetRevision
		}
		if digits, ok := revisions[name]; ok {
			return overlay.Revision(digits)
		}
		v.reading.Note("%s: $%s is no variable that is known here, and is empty", at, name)
		return ""
	})
}
