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

// TestOnlyWhatIsAskedForIsReadOfAStatus: an inventory of thousands of objects costs nothing where it is not asked for.
func TestOnlyWhatIsAskedForIsReadOfAStatus(t *testing.T) {
	type runs struct {
		Revision string `json:"revision,omitempty"`
	}
	var got struct {
		runs
		Count  int    `json:"count"`
		Hidden string `json:"-"`
	}
	reader.DecodeStatus(object.Object{"status": map[string]any{
		"revision": "main@sha1:1", "count": int64(2), "malformed": func() {}, "Hidden": "x", "-": "x",
	}}, &got)
	if got.Revision != "main@sha1:1" || got.Count != 2 || got.Hidden != "" {
		t.Errorf("read: %+v", got)
	}
	reader.DecodeStatus(object.Object{"status": map[string]any{"revision": int64(3), "count": int64(4)}}, &got)
	if got.Revision != "main@sha1:1" || got.Count != 4 {
		t.Errorf("what is malformed hides the rest: %+v", got)
	}
	entries := make([]any, 10_000)
	for i := range entries {
		entries[i] = map[string]any{"id": "shop_web_apps_Deployment", "v": "v1"}
	}
	large := object.Object{"status": map[string]any{"count": int64(5), "inventory": map[string]any{"entries": entries}}}
	if n := testing.AllocsPerRun(10, func() { reader.DecodeStatus(large, &got) }); n > 50 {
		t.Errorf("%g allocations for one number", n)
	}
}
