package reconcile

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
)

func configMapEvent(uid, version string) live.Event {
	gvk := object.GVK{Version: "v1", Kind: "ConfigMap"}
	meta := map[string]any{"name": "c", "namespace": "shop", "uid": uid, "resourceVersion": version, "labels": map[string]any{object.PartOf: "app"}}
	return live.Event{
		GVK: gvk, ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "c"}, Depth: live.Metadata,
		Object: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta},
	}
}

// TestOnlyWhatIsExactlyAsItWasIsTrusted: an object that changed while no truce ran has another resourceVersion, one that was made again
// another uid.
func TestOnlyWhatIsExactlyAsItWasIsTrusted(t *testing.T) {
	good := func() *record { return &record{made: "1", trusted: 7} }
	for name, c := range map[string]struct {
		r    *record
		ev   live.Event
		want bool
	}{
		"as it was":            {good(), configMapEvent("1", "7"), true},
		"changed":              {good(), configMapEvent("1", "8"), false},
		"an older copy":        {good(), configMapEvent("1", "6"), false},
		"made again":           {good(), configMapEvent("2", "7"), false},
		"nothing is known":     {&record{made: "1"}, configMapEvent("1", "7"), false},
		"no version":           {&record{made: "1"}, configMapEvent("1", ""), false},
		"Git has changed":      {&record{made: "1", trusted: 7, changed: true}, configMapEvent("1", "7"), false},
		"a claim has changed":  {&record{made: "1", trusted: 7, asked: true}, configMapEvent("1", "7"), false},
		"it was judged before": {&record{made: "1", trusted: 7, judged: true}, configMapEvent("1", "7"), false},
	} {
		if got := c.r.trusts(unjudgedAs(c.ev)); got != c.want {
			t.Errorf("%s: trusted %t, want %t", name, got, c.want)
		}
	}
}

// TestWhatIsWrittenDownAsJudged: the next process has to look at whatever is not plainly as Git wants.
func TestWhatIsWrittenDownAsJudged(t *testing.T) {
	fresh := func() *record {
		return &record{gvk: object.GVK{Version: "v1", Kind: "ConfigMap"}, judged: true, digest: "sha256:1", version: 7, uid: "1", made: "1"}
	}
	if got := fresh().judgedAt(); got != "7" {
		t.Fatalf("judged at %q, want 7", got)
	}
	for name, spoil := range map[string]func(*record){
		"not judged":              func(r *record) { r.judged = false },
		"an event waits":          func(r *record) { r.pending = unjudgedAs(configMapEvent("1", "8")) },
		"it has a problem":        func(r *record) { r.problem = "refused" },
		"a field differs":         func(r *record) { r.findings = []decide.Finding{{}} },
		"a field is withheld":     func(r *record) { r.withheld = []field.Path{field.Name("data")} },
		"a Secret, not digested":  func(r *record) { r.digest = "" },
		"another object":          func(r *record) { r.uid = "2" },
		"health is in its status": func(r *record) { r.gvk = object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"} },
	} {
		r := fresh()
		spoil(r)
		if got := r.judgedAt(); got != "" {
			t.Errorf("%s: judged at %q", name, got)
		}
	}
}

// TestAnEventThatComesBeforeItsAppIsHeld until the app has run, and the newest of several is.
func TestAnEventThatComesBeforeItsAppIsHeld(t *testing.T) {
	e := New(Parts{})
	for _, version := range []string{"5", "6"} {
		e.Seen(configMapEvent("1", version))
	}
	held := e.early.take("app")
	if u := held[configMapEvent("", "").ID]; len(held) != 1 || u.version != 6 {
		t.Fatalf("held %v, want the newest event", held)
	}
	e.Seen(configMapEvent("1", "7"))
	if held = e.early.take("app"); len(held) != 0 || e.early.held != 0 {
		t.Errorf("held %v (%d) for an app that has run", held, e.early.held)
	}
	e.early.taken["app"] = false
	e.Seen(configMapEvent("1", "8"))
	gone := configMapEvent("1", "8")
	gone.Gone = true
	e.Seen(gone)
	if held = e.early.take("app"); len(held) != 0 || e.early.held != 0 {
		t.Errorf("held %v (%d) of an object that is gone", held, e.early.held)
	}
}
