package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
)

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
