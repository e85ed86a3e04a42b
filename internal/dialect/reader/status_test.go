package reader_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
)

// TestTheStatusIsOfWhoWroteItLast: an annotation or a condition that truce writes to another controller's app does not make the status truce's.
func TestTheStatusIsOfWhoWroteItLast(t *testing.T) {
	entry := func(manager, at string, fields ...string) map[string]any {
		status := map[string]any{}
		for _, f := range fields {
			status["f:"+f] = map[string]any{}
		}
		return map[string]any{"manager": manager, "operation": "Update", "time": at, "fieldsV1": map[string]any{"f:status": status}}
	}
	const early, late = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
	for name, c := range map[string]struct {
		each    string
		entries []any
		want    string
	}{
		"nothing is known":                     {want: ""},
		"the youngest":                         {entries: []any{entry("kustomize-controller", late, "conditions"), entry("truce-controller", early, "history")}, want: "Flux"},
		"truce's condition":                    {entries: []any{entry("kustomize-controller", early, "history"), entry(reader.ObserverManager, late, "conditions")}, want: "Flux"},
		"an annotation of truce's, after that": {each: "reconciledAt", entries: []any{entry("truce-controller", late, "operationState"), entry("argocd-application-controller", early, "reconciledAt")}, want: "Argo CD"},
		"a status without that field":          {each: "reconciledAt", entries: []any{entry("argocd-application-controller", early, "sync")}, want: "Argo CD"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reader.StatusWriter(object.Object{"metadata": map[string]any{"managedFields": c.entries}}, c.each); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
