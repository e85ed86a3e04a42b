package attribution

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Place is where reviews are received, and how the API server gets there. The zero Place is nowhere: no admission witness.
type Place struct {
	Listen  string // an address and a port; 0 for any
	URL     string // how the API server reaches Listen, where it is not by that address
	Service string // NAMESPACE/NAME of a Service without a selector in front of it; empty for none
	Pod     string // the IP address of this pod; only with Service
}

// Kind is a kind in use, as rules of a webhook name it.
type Kind struct{ Group, Version, Resource string }

// Setup is what a configuration depends on.
type Setup struct {
	Name   string // of the configuration
	Home   string // the namespace of the probe
	URL    string // where the API server finds us; empty for the Service
	Path   string // below the Service
	Port   int64  // of the Service
	In, By string // the Service's namespace and name
	Bundle []byte // that our certificate is trusted by, as PEM
	Kinds  []Kind
	User   string // who truce is, so that its own writes are left out
	Mark   string // the label that objects in question bear; empty for all objects of the kinds
	// Namespaces are where the objects lie; none for everywhere. Objects of no namespace are meant in any case.
	Namespaces []string
}

// Probe is below the path of reviews: what arrives there only shows that the API server finds us.
const Probe = "/probe"

// Configuration is the ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1) by which the API server reports writes. It
// never blocks a request: failurePolicy Ignore, the shortest timeout that there is, no side effects. It is about as few
// requests as can be distinguished before they are sent.
func (s Setup) Configuration() object.Object {
	hooks := []any{s.probe()}
	if len(s.Kinds) > 0 {
		writes := s.hook("writes.witness.truce.dev", "", admissionRules(s.Kinds, "", created, updated, deleted), s.conditions())
		status := s.hook("status.witness.truce.dev", "", admissionRules(s.Kinds, "/status", updated), append(s.conditions(), metadataChanged))
		if s.Mark != "" {
			selector := map[string]any{"matchExpressions": []any{map[string]any{"key": s.Mark, "operator": "Exists"}}}
			writes["objectSelector"], status["objectSelector"] = selector, selector
		}
		scale := s.hook("scale.witness.truce.dev", "", admissionRules(s.Kinds, "/scale", updated), s.conditions()) // a Scale bears no labels
		for _, hook := range []map[string]any{writes, scale, status} {
			if len(s.Namespaces) > 0 {
				hook["namespaceSelector"] = inNamespaces(s.Namespaces)
			}
			hooks = append(hooks, hook)
		}
	}
	return object.Object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": s.Name, "labels": map[string]any{"app.kubernetes.io/managed-by": "truce"}},
		"webhooks": hooks,
	}
}

// probe is about a request that truce itself makes and that leaves nothing behind: a ConfigMap, as a dry run, under the configuration's name.
// Reviews of authentication and authorization, which leave nothing behind either, are sent to no webhook (measured, Kubernetes 1.37).
func (s Setup) probe() map[string]any {
	rule := map[string]any{
		"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{created}, "scope": "Namespaced",
	}
	hook := s.hook("probe.witness.truce.dev", Probe, []any{rule}, []any{map[string]any{"name": "ours", "expression": fmt.Sprintf(
		`has(request.dryRun) && request.dryRun && has(request.options) && has(request.options.fieldManager) && request.options.fieldManager == %s`,
		celString(s.Name))}})
	hook["namespaceSelector"] = inNamespaces([]string{s.Home})
	return hook
}

func inNamespaces(namespaces []string) map[string]any {
	values := make([]any, 0, len(namespaces))
	for _, n := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		values = append(values, n)
	}
	return map[string]any{"matchExpressions": []any{map[string]any{"key": "kubernetes.io/metadata.name", "operator": "In", "values": values}}}
}

func (s Setup) hook(name, below string, rules, conditions []any) map[string]any {
	client := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(s.Bundle)}
	if s.URL != "" {
		client["url"] = s.URL + below
	} else {
		client["service"] = map[string]any{"namespace": s.In, "name": s.By, "path": s.Path + below, "port": s.Port}
	}
	return map[string]any{
		"name": name, "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Ignore", "matchPolicy": "Equivalent",
		"timeoutSeconds": int64(1), "clientConfig": client, "rules": rules, "matchConditions": conditions,
	}
}

// conditions leave out what is no write of anybody else.
func (s Setup) conditions() []any {
	condition := func(name, expression string) any { return map[string]any{"name": name, "expression": expression} }
	out := []any{
		condition("written", `!has(request.dryRun) || !request.dryRun`),
		condition("no-noise", `!request.userInfo.username.startsWith("system:node:") && request.userInfo.username != "system:apiserver"`),
	}
	if s.User != "" {
		out = append(out, condition("not-truce", fmt.Sprintf(
			`!(request.userInfo.username == %s && has(request.options) && has(request.options.fieldManager) && request.options.fieldManager.startsWith("truce"))`,
			celString(s.User))))
	}
	return out
}

// metadataChanged leaves out all writes of a status but the few that change what Git may name of the metadata.
var metadataChanged = map[string]any{"name": "metadata", "expression": `["labels", "annotations"].exists(k, ` +
	`(k in object.metadata) != (k in oldObject.metadata) || k in object.metadata && object.metadata[k] != oldObject.metadata[k])`}

// celString quotes text as CEL does: all that is special is written by its number.
func celString(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < ' ' || r == '"' || r == '\\' || r > '~' {
			fmt.Fprintf(&b, `\U%08x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// admissionRules are those of the kinds, or of a subresource of each, one for each group and version.
func admissionRules(kinds []Kind, sub string, operations ...any) []any {
	byGroup := map[[2]string][]string{}
	for _, k := range kinds {
		key := [2]string{k.Group, k.Version}
		byGroup[key] = append(byGroup[key], k.Resource)
	}
	keys := make([][2]string, 0, len(byGroup))
	for key := range byGroup {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var out []any
	for _, key := range keys {
		names := byGroup[key]
		slices.Sort(names)
		var resources []any
		for _, n := range slices.Compact(names) {
			resources = append(resources, n+sub)
		}
		out = append(out, map[string]any{
			"apiGroups": []any{key[0]}, "apiVersions": []any{key[1]}, "resources": resources,
			"operations": operations, "scope": "*",
		})
	}
	return out
}
