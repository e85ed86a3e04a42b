package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operated are the names of the objects of the newest operation, in order.
func operated(o *unstructured.Unstructured) []string {
	var out []string
	for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
		out = append(out, fmt.Sprint(r["name"]))
	}
	slices.Sort(out)
	return out
}

// TestAnOperationListsWhatItHasApplied: with ApplyOutOfSyncOnly an operation lists the objects that it has written.
func TestAnOperationListsWhatItHasApplied(t *testing.T) {
	w := newArgoWorld(t, app.Policy{}, configMaps("app", "a", "b", "c"))
	w.application("web", "app", "\nsyncPolicy: {automated: {}, syncOptions: [ApplyOutOfSyncOnly=true]}")
	if got := operated(w.inSync("web")); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the first operation lists %v", got)
	}
	w.edit("app/b.yaml", `"k":"b"`, `"k":"two"`)
	if got := operated(w.inSync("web")); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the operation about a change of b lists %v", got)
	}
	w.kubectl("delete", "configmap", "c")
	w.outOfSync("web")
	if phase, message := w.order("web", `{"sync":{"syncOptions":["ApplyOutOfSyncOnly=true"]}}`); phase != "Succeeded" {
		t.Errorf("%s %s", phase, message)
	}
	if got := operated(w.inSync("web")); !slices.Equal(got, []string{"c"}) {
		t.Errorf("the operation about c, which was deleted, lists %v", got)
	}
}

// TestAnOperationNamesTheRevisionThatWasAskedFor: also where there is no such commit.
func TestAnOperationNamesTheRevisionThatWasAskedFor(t *testing.T) {
	w := newArgoWorld(t, app.Policy{}, configMaps("app", "a"))
	w.application("web", "app", automated)
	w.inSync("web")
	none := strings.Repeat("0123456789", 4)
	if phase, message := w.order("web", `{"sync":{"revision":"`+none+`"}}`); phase != "Error" || !strings.Contains(message, none) {
		t.Errorf("%s %s", phase, message)
	}
	if got := text(w.getApplication("web"), "status", "operationState", "syncResult", "revision"); got != none {
		t.Errorf("the operation names %s, want what was asked for", got)
	}
}
