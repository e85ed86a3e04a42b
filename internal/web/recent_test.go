package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/golden"
	testclock "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// kept answers as a journal that holds the entries.
type kept []journal.Entry

func (k kept) Read(q journal.Query, seen func(journal.Entry) bool) error {
	for _, e := range k {
		if q.Matches(e) && !seen(e) {
			return nil
		}
	}
	return nil
}

// corrupt is a journal that cannot be read.
type corrupt struct{}

func (corrupt) Read(journal.Query, func(journal.Entry) bool) error {
	return errors.New("page 3 is corrupt")
}

func stateWith(entries []journal.Entry) State {
	return State{Controller: shown{}, Journal: kept(entries), Clock: testclock.NewFakePassiveClock(noon)}
}

// TestPagesOfTheJournal runs stories of entries, a JSON object a line.
func TestPagesOfTheJournal(t *testing.T) {
	golden.Run(t, "testdata/lately/*.txtar", func(t *testing.T, f golden.Files) string {
		var entries []journal.Entry
		for line := range strings.Lines(f.Need(t, "journal")) {
			var e journal.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		w := get(t, stateWith(entries), strings.TrimSpace(f.Need(t, "path")))
		if w.Code != http.StatusOK {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		text := w.Body.String()
		if _, after, ok := strings.Cut(text, `<h2 id="lately">`); ok {
			text, _, _ = strings.Cut(after, `<h2 id="objects">`)
		}
		return text
	})
}

func hostile() []journal.Entry {
	key := app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}
	id := object.ID{Group: evil, Kind: `"><img src=x onerror=alert(1)>`, Namespace: evil, Name: evil}
	var out []journal.Entry
	for i, what := range []journal.EntryKind{journal.Corrected, journal.Corrected, journal.Contested, journal.Held, journal.Applied, journal.Failed, journal.EntryKind(evil)} {
		out = append(out, journal.Entry{
			At: noon.Add(time.Duration(i-10) * time.Minute), App: key, What: what, Object: id, Path: evil, Git: evil, Live: fmt.Sprint(evil, i), Writer: evil,
			Revision: evil, Reason: evil, Claimant: `" onmouseover="alert(1)`,
		})
	}
	return out
}

func TestWhatTheJournalHoldsIsOnlyShown(t *testing.T) {
	for _, path := range []string{"/", "/apps/Kustomization/flux-system/web", "/apps/Kustomization/flux-system/web?since=%3Cscript%3E"} {
		body := get(t, stateWith(hostile()), path).Body.String()
		if !strings.Contains(body, "&lt;script&gt;") {
			t.Errorf("%s does not show the journal:\n%s", path, body)
		}
		for _, never := range []string{"<script", "<img", `" onmouseover="`, "style=", "http://", "https://"} {
			if strings.Contains(body, never) {
				t.Errorf("%s holds %s:\n%s", path, never, body)
			}
		}
	}
}

func TestAPageSaysAllThatIsKnownOfAWriter(t *testing.T) {
	e := journal.Entry{
		At: noon.Add(-time.Minute), App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, What: journal.Held,
		Object: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Path: ".spec.paused", Git: false, Live: true,
		Writer: "kubectl-edit", Manager: "kubectl-edit", User: "jane", Evidence: "recorded",
	}
	if body := get(t, stateWith([]journal.Entry{e}), "/apps/Kustomization/flux-system/web").Body.String(); !strings.Contains(body, e.By()) || !strings.Contains(body, "jane") {
		t.Errorf("the page does not say %q:\n%s", e.By(), body)
	}
}

func TestAPageShowsABoundedPartOfTheJournal(t *testing.T) {
	key := app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}
	var entries []journal.Entry
	for i := range 3 * mostEntries {
		id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("c", i%50)}
		entries = append(entries, journal.Entry{At: noon.Add(time.Duration(i-3*mostEntries) * time.Second), App: key, What: journal.Corrected, Object: id, Path: ".data.a", Git: int64(1), Live: int64(i)})
	}
	w := get(t, stateWith(entries), "/apps/Kustomization/flux-system/web?since=24h")
	if n := w.Body.Len(); n > 300_000 {
		t.Errorf("a page of %d bytes", n)
	}
	if !strings.Contains(w.Body.String(), fmt.Sprintf("100 of %d entries", 3*mostEntries)) {
		t.Error("the page does not say that there is more")
	}
	if !strings.Contains(w.Body.String(), fmt.Sprintf("<code>%d</code>", 3*mostEntries-1)) {
		t.Error("the newest entry is not shown")
	}
}

func TestAJournalThatCannotBeReadIsSaid(t *testing.T) {
	s := stateWith(nil)
	s.Journal = corrupt{}
	for _, path := range []string{"/", "/apps/Kustomization/flux-system/web"} {
		if w := get(t, s, path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "page 3 is corrupt") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestOfAWholeObjectThePageSaysWhetherItIsThere(t *testing.T) {
	key := app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	git := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	var entries []journal.Entry
	for i, what := range []journal.EntryKind{journal.Held, journal.Corrected} {
		entries = append(entries, journal.Entry{At: noon.Add(time.Duration(i-10) * time.Minute), App: key, What: what, Object: id, Path: ".", Git: git})
	}
	body := get(t, stateWith(entries), "/apps/Kustomization/flux-system/web").Body.String()
	if !strings.Contains(body, "<svg") || !strings.Contains(body, "Git: <code>there</code>") || strings.Contains(body, "apiVersion") {
		t.Errorf("the page shows:\n%s", body)
	}
}
