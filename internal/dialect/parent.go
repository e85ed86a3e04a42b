package dialect

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Parent is who keeps a custom resource as Git describes it. Its zero value is none.
type Parent struct {
	// Key names the app; its Namespace is empty where the mark does not contain it, and all of it where only a writer is known.
	Key app.Key
	// By is the field manager that the parent writes as; empty for unknown.
	By string
	// Generator is the ApplicationSet that generates the object, also where another app keeps it; zero for none.
	Generator app.Key
}

// String prints the parent as people call it.
func (p Parent) String() string {
	switch {
	case p.Key.Name == "":
		return p.By
	case p.Key.Namespace == "":
		return p.Key.Kind + " " + p.Key.Name
	}
	return p.Key.String()
}

// The marks by which GitOps tools know their objects, and the names that they write as.
const (
	fluxName, fluxNamespace = "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"
	helmName, helmNamespace = "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"
	argoTracking            = "argocd.argoproj.io/tracking-id" // app:group/Kind:namespace/name
	argoInstance            = "app.kubernetes.io/instance"
)

// writers are the field managers of GitOps tools, truce's own first.
var writers = []string{"truce", "kustomize-controller", "helm-controller", "argocd-controller"}

// ParentOf returns who keeps an object as Git describes it. known says whether an app of that kind, namespace and name is there: the
// common label app.kubernetes.io/instance is a mark of Argo CD's only then.
func ParentOf(o object.Object, known func(app.Key) bool) Parent {
	p := Parent{By: gitOpsWriter(o), Generator: owningApplicationSet(o)}
	label := func(key string) string { s, _ := o.Label(key); return s }
	tracking, _ := o.Annotation(argoTracking)
	tracked, _, _ := strings.Cut(tracking, ":")
	instance := app.Key{Kind: "Application", Namespace: o.Namespace(), Name: label(argoInstance)}
	switch {
	case label(fluxName) != "":
		p.Key = app.Key{Kind: "Kustomization", Namespace: label(fluxNamespace), Name: label(fluxName)}
	case label(helmName) != "":
		p.Key = app.Key{Kind: "HelmRelease", Namespace: label(helmNamespace), Name: label(helmName)}
	case tracked != "":
		p.Key = applicationNamed(tracked)
	case partOfLabel(o) != "":
		p.Key = appOfLabel(partOfLabel(o), known)
	case instance.Name != "" && instance.Name != o.Name() && known(instance):
		p.Key = instance
	default:
		p.Key = p.Generator
	}
	return p
}

// applicationNamed reads an instance name: NAME, or NAMESPACE_NAME where Applications live in any namespace.
func applicationNamed(text string) app.Key {
	namespace, name, both := strings.Cut(text, "_")
	if !both {
		namespace, name = "", text
	}
	return app.Key{Kind: "Application", Namespace: namespace, Name: name}
}

func partOfLabel(o object.Object) string { s, _ := o.Label(object.PartOf); return s }

// appOfLabel reads truce's own mark, NAMESPACE.NAME or NAMESPACE.NAME_KIND (desired.PartOfValue); no namespace holds a dot. Older marks name no
// kind.
func appOfLabel(mark string, known func(app.Key) bool) app.Key {
	mark, kind, hasKind := strings.Cut(mark, "_")
	namespace, name, _ := strings.Cut(mark, ".")
	if hasKind {
		return app.Key{Kind: kind, Namespace: namespace, Name: name}
	}
	for _, kind := range []string{"Kustomization", "Application"} {
		if k := (app.Key{Kind: kind, Namespace: namespace, Name: name}); known(k) {
			return k
		}
	}
	return app.Key{Kind: "app", Namespace: namespace, Name: name}
}

// owningApplicationSet is an ApplicationSet that generates the object.
func owningApplicationSet(o object.Object) app.Key {
	list, _ := o.At("metadata", "ownerReferences").([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if m["controller"] == true && m["kind"] == "ApplicationSet" {
			return app.Key{Kind: "ApplicationSet", Namespace: o.Namespace(), Name: name}
		}
	}
	return app.Key{}
}

// gitOpsWriter is the first GitOps tool that owns a field of the object, other than a finalizer: the controller of an app puts that on the app itself.
func gitOpsWriter(o object.Object) string {
	list, _ := o.At("metadata", "managedFields").([]any)
	for _, known := range writers {
		if slices.ContainsFunc(list, func(v any) bool {
			m, _ := v.(map[string]any)
			return m["manager"] == known && m["subresource"] == nil && !ownsFinalizersAlone(m)
		}) {
			return known
		}
	}
	return ""
}

// ownsFinalizersAlone reports whether an entry of managedFields has finalizers, and nothing else.
func ownsFinalizersAlone(entry object.Object) bool {
	fields, _ := entry.At("fieldsV1").(map[string]any)
	meta, _ := fields["f:metadata"].(map[string]any)
	return len(fields) == 1 && len(meta) == 1 && meta["f:finalizers"] != nil
}
