package compare

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// What a server's schema would say, for where there is none: enough of Kubernetes' own kinds to read a pair without
// managedFields. With them they decide.

// listKeys are the keys of Kubernetes' own lists by the list's name (x-kubernetes-list-map-keys), the first set that an item has.
var listKeys = map[string][][]string{
	"containers": {{"name"}}, "initContainers": {{"name"}}, "ephemeralContainers": {{"name"}}, "env": {{"name"}}, "volumes": {{"name"}},
	"imagePullSecrets": {{"name"}}, "secrets": {{"name"}}, "webhooks": {{"name"}}, "resourceClaims": {{"name"}}, "claims": {{"name"}},
	"volumeMounts": {{"mountPath"}}, "volumeDevices": {{"devicePath"}}, "hostAliases": {{"ip"}}, "ownerReferences": {{"uid"}},
	"ports":                     {{"containerPort", "protocol"}, {"port", "protocol"}},
	"topologySpreadConstraints": {{"topologyKey", "whenUnsatisfiable"}},
}

// listSets are Kubernetes' own lists of which each value counts by itself (x-kubernetes-list-type: set).
var listSets = map[string]bool{"finalizers": true}

// distinguishingKeys are fields whose absence says something else than false, zero or the empty text: all others are left out by the server.
var distinguishingKeys = map[string]bool{
	"automountServiceAccountToken": true, "allowPrivilegeEscalation": true, "enableServiceLinks": true, "hostUsers": true,
	"runAsUser": true, "runAsGroup": true, "fsGroup": true, "ttlSecondsAfterFinished": true, "tolerationSeconds": true,
	"stabilizationWindowSeconds": true, "storageClassName": true, "replicas": true, "minReplicas": true, "defaultMode": true,
	"allocateLoadBalancerNodePorts": true, "terminationGracePeriodSeconds": true, "parallelism": true, "backoffLimit": true,
}

// omitted reports whether the server may have left the value out of the live object although it was applied.
func (w *walker) omitted(name string, v any) bool {
	if !w.pair.Native || distinguishingKeys[name] && (name != "storageClassName" || w.pair.Desired.GVK().Kind != "PersistentVolume") {
		return false
	}
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	}
	n, whole := field.WholeNumber(v)
	return whole && n == 0
}

// namer names the items of one list.
type namer struct{ keys []string } // no keys: by value

// naming returns how the items of a list are named; false for one that counts as a whole.
func (w *walker) naming(list field.Path, items []any) (namer, bool) {
	for _, owners := range [2][]ownership.Entry{w.pair.Owners, w.pair.Schema} {
		for _, o := range owners {
			if keys := o.Fields.ListKeys(list); keys != nil {
				return namer{keys}, allMaps(items)
			}
		}
	}
	name := list[len(list)-1].FieldName
	if name == nil {
		return namer{}, false
	}
	if w.byValue(list, *name) {
		return namer{}, true
	}
	if !w.pair.Native {
		return namer{}, false
	}
	for _, keys := range listKeys[*name] {
		if haveAll(items, keys[0]) {
			return namer{keys}, true
		}
	}
	return namer{}, false
}

// byValue reports whether the list is a set.
func (w *walker) byValue(list field.Path, name string) bool {
	isItem := func(p field.Path) bool { return len(p) == len(list)+1 && p[len(list)].Value != nil }
	asSet := func(o ownership.Entry) bool { return slices.ContainsFunc(o.Fields.Below(list), isItem) }
	return listSets[name] && len(list) == 2 || slices.ContainsFunc(w.pair.Owners, asSet) || slices.ContainsFunc(w.pair.Schema, asSet)
}

func (n namer) of(item any) field.Element {
	m, ok := item.(map[string]any)
	if !ok || len(n.keys) == 0 {
		v := value.NewValueInterface(item)
		return field.Element{Value: &v}
	}
	return field.KeyElement(m, n.keys)
}

// distinguishes reports whether each item has a name of its own: an item that lacks its keys, or stands there twice, has none.
func (n namer) distinguishes(items []any) bool {
	for i, item := range items {
		e := n.of(item)
		if slices.IndexFunc(items, func(other any) bool { return field.Matches(other, e) }) != i {
			return false
		}
	}
	return true
}

func allMaps(items []any) bool {
	return !slices.ContainsFunc(items, func(item any) bool { _, ok := item.(map[string]any); return !ok })
}

func haveAll(items []any, key string) bool {
	for _, item := range items {
		m, _ := item.(map[string]any)
		if _, ok := m[key]; !ok {
			return false
		}
	}
	return len(items) > 0
}
