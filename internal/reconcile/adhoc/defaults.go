package adhoc

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
)

// allocated are fields of Kubernetes' own kinds that the server, or admission as it is set up everywhere, fills in with values of no fixed form.
var allocated = map[string][]string{
	"Service":               {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort", "nodePort", "targetPort"},
	"PersistentVolumeClaim": {"volumeName", "storageClassName"},
	"PersistentVolume":      {"claimRef"},
	"Job":                   {"selector", "controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"},
	"Namespace":             {"finalizers", "kubernetes.io/metadata.name"},
	"ServiceAccount":        {"secrets"},
	"Pod":                   {"nodeName", "serviceAccount", "serviceAccountName", "tolerations", "priority", "preemptionPolicy", "volumes", "volumeMounts"},
	"Ingress":               {"ingressClassName"},
	"HorizontalPodAutoscaler": {
		"autoscaling.alpha.kubernetes.io/behavior", "autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics",
		"autoscaling.alpha.kubernetes.io/metrics",
	},
}

// isFilled reports whether the value is one that the server puts there by itself: a default, or what it allocates. Kinds is nil where nothing is
// known.
func isFilled(kinds *schema.Kinds, live object.Object, p field.Path) bool {
	gvk := live.GVK()
	if kinds == nil || len(p) == 0 || !object.IsBuiltIn(gvk.Group) {
		return false
	}
	t, known := kinds.Of(gvk)
	if !known {
		return false
	}
	isOf := func(e field.Element) bool {
		return e.FieldName != nil && slices.Contains(allocated[gvk.Kind], *e.FieldName)
	}
	if slices.ContainsFunc(p, isOf) {
		return true
	}
	value, there := field.ValueAt(live, p)
	last := p[len(p)-1].FieldName
	if !there || last == nil {
		return false
	}
	return typeOfField(t, p[:len(p)-1]).IsDefault(*last, value) || isCopied(live, p, value) || withinDefault(t, live, p)
}

// typeOfField is the type of what a path leads to.
func typeOfField(t *schema.Type, p field.Path) *schema.Type {
	for _, e := range p {
		if e.FieldName == nil {
			t = t.Item()
			continue
		}
		t, _ = t.Field(*e.FieldName)
	}
	return t
}

// withinDefault reports whether the path is within a record or list that is a default as a whole.
func withinDefault(t *schema.Type, live object.Object, p field.Path) bool {
	for i := len(p) - 1; i > 0; i-- {
		name := p[i-1].FieldName
		if name == nil {
			continue
		}
		v, there := field.ValueAt(live, p[:i])
		if list, isList := v.([]any); there && isList && len(list) > 0 && typeOfField(t, p[:i-1]).IsDefault(*name, v) {
			return true
		}
	}
	return false
}

// isCopied reports whether the server has taken the value from another field: requests from limits, and the old form of a name.
func isCopied(live object.Object, p field.Path, value any) bool {
	n := len(p)
	from := func(at int, names ...string) bool {
		v, there := field.ValueAt(live, append(p[:at:at], field.NewPath(names...)...))
		return there && field.EqualValues(v, value)
	}
	switch last := *p[n-1].FieldName; {
	case last == "serviceAccount":
		return from(n-1, "serviceAccountName")
	case last == "requests":
		return from(n-1, "limits")
	case n > 1 && p[n-2].FieldName != nil && *p[n-2].FieldName == "requests":
		return from(n-2, "limits", last)
	}
	return false
}
