package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
)

func TestHistoryNamesTheWriterAndNotTheClaimant(t *testing.T) {
	e := journal.Entry{What: journal.Ceded, Object: object.ID{Kind: "Deployment", Namespace: "shop", Name: "web"}, Path: ".spec.replicas", Claimant: "HPA shop/web"}
	by := func(e journal.Entry) string { row := timelineRow(e); return row[len(row)-1] }
	if got := by(e); got != "unknown" {
		t.Errorf("BY is %q where no writer is known", got)
	}
	e.Writer, e.Manager, e.Evidence = "kubectl (scale)", "kubectl", "recorded"
	if got := by(e); got != "kubectl (scale)" {
		t.Errorf("BY is %q", got)
	}
}

// TestHistoryOfAWholeObjectIsARowAsWideAsAnother: what Git has of the object is in no column.
func TestHistoryOfAWholeObjectIsARowAsWideAsAnother(t *testing.T) {
	key, id := app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for want, e := range map[string]journal.Entry{
		"corrected|Deployment shop/web|(the object)|there|missing|unknown": {What: journal.Corrected, Path: ".", Git: map[string]any{"spec": map[string]any{"replicas": int64(3)}}},
		"recreated|Deployment shop/web: spec.force: refused":               {What: journal.Recreated, Reason: "spec.force: refused"},
	} {
		e.App, e.Object = key, id
		if got := strings.Join(timelineRow(e)[2:], "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAnEmptyJournalIsSaidWithTheSpanThatWasAskedFor(t *testing.T) {
	for since, text := range map[time.Duration]string{30 * time.Minute: "30m", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m"} {
		of := &timelineFlags{since: since}
		if got, want := of.nothing(app.Key{Name: "web"}), "the journal holds nothing of the last "+text+" about web"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		preview := &notifyPreviewFlags{since: since}
		for judged, held := range map[int]string{0: "nothing", 1: "1 entry", 2: "2 entries"} {
			if got, want := preview.nothing(judged), "no messages in the last "+text+"; the journal holds "+held+" of that time"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}

// TestHistoryHasRoomForAReason: a sentence in the place of an object widens no column.
func TestHistoryHasRoomForAReason(t *testing.T) {
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	for bare, want := range map[bool]string{ // LIVE is wider than the value
		false: "ConfigMap shop/web   .data.a   \"1\"   \"2\"    unknown\n",
		true:  "ConfigMap shop/web   .data.a   \"1\"   \"2\"   unknown\n",
	} {
		table := timelineTable([]journal.Entry{
			{What: journal.Failed, Reason: strings.Repeat("it does not render ", 4)},
			{What: journal.Held, Object: id, Path: ".data.a", Git: "1", Live: "2"},
		})
		table.bare = bare
		var out strings.Builder
		if err := table.print(&out, terminal{}); err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "OBJECT") == bare {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}
