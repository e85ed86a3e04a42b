package compose

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestWhoDoesNotWorkForANamespaceStandsBackBehindWhoDoes(t *testing.T) {
	h := newHindrances(slog.New(slog.DiscardHandler))
	h.tell("team-a", "no right")
	h.tell("team-b", "no right there either")
	h.tell("team-b", "")
	waiting := object.Object{"metadata": map[string]any{"name": "waiting"}, "data": h.data()}
	all := object.Object{"metadata": map[string]any{"name": "all"}, "data": map[string]any{}}
	if got := hindered(waiting, "team-a") + "," + hindered(waiting, "team-b") + "," + hindered(all, "team-a"); got != "no right,," {
		t.Errorf("hindered: %q", got)
	}
	for namespace, want := range map[string][]object.Object{"team-a": {all}, "team-b": {waiting, all}} {
		if diff := cmp.Diff(want, working([]object.Object{waiting, all}, namespace)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}
	if got := working([]object.Object{waiting}, "team-a"); len(got) != 1 {
		t.Errorf("of one, %d are left", len(got))
	}
	h.tell("", "nowhere")
	if got := h.text(); got != "nowhere; no right" {
		t.Errorf("said: %q", got)
	}
}
