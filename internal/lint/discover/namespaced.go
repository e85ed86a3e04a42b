package discover

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// namespacedObjects names the objects as a cluster would. Unlike desired.Normalize it leaves them as they are written, since what truce would mend on
// the way is worth a finding. Unknown kinds are taken to be namespaced, as most do. Repeated are descriptions that do not count, since a later one does.
func namespacedObjects(rendered []render.Object, a app.App) (out []desired.Object, repeated []Skipped, err error) {
	wide := clusterWide(rendered)
	first := map[object.ID]render.Object{}
	for _, r := range rendered {
		if _, aside := a.Aside.Of(r.Data); aside {
			continue
		}
		if r.Data.IsGenerated() {
			continue // it is another object at each creation
		}
		o := settled(r, a, wide)
		f, there := first[o.ID]
		switch {
		case there && (len(a.Parts) > 0 || a.LastCounts):
			out = slices.DeleteFunc(out, func(before desired.Object) bool { return before.ID == o.ID })
			repeated = append(repeated, Skipped{
				File: f.File, Line: f.Line, What: o.ID.String(), Why: fmt.Sprintf("is described again at %s:%d, which counts", r.File, r.Line),
				NoObject: true, Reason: "a later description of the same object counts",
			})
		case there:
			return nil, nil, &render.Error{File: r.File, Line: r.Line, Err: fmt.Errorf("%s is already at %s:%d", o.ID, f.File, f.Line)}
		}
		first[o.ID] = r
		out = append(out, o)
	}
	return out, repeated, nil
}

func settled(r render.Object, a app.App, wide map[object.GVK]bool) desired.Object {
	data, gvk := r.Data, r.Data.GVK()
	scope := adhoc.BuiltinScope(gvk)
	if scope == desired.Unserved && wide[object.GVK{Group: gvk.Group, Kind: gvk.Kind}] {
		scope = desired.ClusterWide
	}
	switch {
	case scope == desired.ClusterWide:
		delete(data.Metadata(), "namespace")
	case data.Namespace() == "":
		data.Metadata()["namespace"] = cmp.Or(a.Namespace, a.DefaultNamespace.Name, "default")
	}
	addMetadata(data.Metadata(), "labels", a.Overlay.Metadata.Labels)
	addMetadata(data.Metadata(), "annotations", a.Overlay.Metadata.Annotations)
	return desired.Object{
		ID: data.ID(), GVK: gvk, Data: data, File: r.File, Line: r.Line, Definition: r.Definition, Wave: desired.WaveOfKind(gvk),
		Sensitive: redact.Sensitive{Fields: r.Sensitive},
	}
}

// addMetadata adds what a Flux Kustomization's commonMetadata puts on every object.
func addMetadata(meta map[string]any, key string, more map[string]string) {
	if len(more) == 0 {
		return
	}
	had, ok := meta[key].(map[string]any)
	if !ok {
		had = map[string]any{}
		meta[key] = had
	}
	for k, v := range more {
		had[k] = v
	}
}

// clusterWide are the kinds whose definition among the objects says that they lie in no namespace, and those that are known to.
func clusterWide(rendered []render.Object) map[object.GVK]bool {
	out := map[object.GVK]bool{
		{Group: "cert-manager.io", Kind: "ClusterIssuer"}: true, {Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}: true,
		{Group: "external-secrets.io", Kind: "ClusterSecretStore"}: true, {Group: "external-secrets.io", Kind: "ClusterExternalSecret"}: true,
		{Group: "kyverno.io", Kind: "ClusterPolicy"}: true, {Group: "karpenter.sh", Kind: "NodePool"}: true,
		{Group: "keda.sh", Kind: "ClusterTriggerAuthentication"}: true,
	}
	for _, r := range rendered {
		if gvk := r.Data.GVK(); gvk.Group != "apiextensions.k8s.io" || gvk.Kind != "CustomResourceDefinition" {
			continue
		}
		group, _ := r.Data.At("spec", "group").(string)
		kind, _ := r.Data.At("spec", "names", "kind").(string)
		out[object.GVK{Group: group, Kind: kind}] = r.Data.At("spec", "scope") == string(desired.ClusterWide)
	}
	return out
}
