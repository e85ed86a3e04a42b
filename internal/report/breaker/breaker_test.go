package breaker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/breaker"
	"github.com/truce-gitops/truce/internal/report/journal"
)

const fought = "put back 2 times since 2026-11-21T10:00:00Z and changed again by keeper (scale); the next try is at 2026-11-21T10:20:00Z"

var (
	now    = time.Date(2026, 11, 21, 10, 10, 0, 0, time.UTC)
	web    = object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	secret = object.ID{Kind: "Secret", Namespace: "shop", Name: "web"}
)

func differs(git, live any) report.Finding {
	return report.Finding{
		Path: field.NewPath("spec", "replicas"), Kind: compare.Changed, Desired: git, Live: live,
		Writer:  ownership.Writer{Name: "keeper (scale)", Evidence: ownership.Recorded},
		Verdict: decide.Correct, Reason: "drift: changed by keeper (scale)",
	}
}

func as(f report.Finding, v decide.Verdict, reason string) report.Finding {
	f.Verdict, f.Reason = v, reason
	return f
}

func TestTheJournalSaysWhatWaits(t *testing.T) {
	f := differs(int64(3), int64(8))
	held := strings.Replace(fought, "10:20:00", "10:10:05", 1)
	const spaced = "corrected less than 10m0s ago: the next correction is due at 2026-11-21T10:15:00Z; HPA shop/web scales Deployment web"
	entry := func(what journal.EntryKind, reason string) journal.Entry {
		return journal.Entry{What: what, Object: web, Path: ".spec.replicas", Git: float64(3), Live: float64(8), Reason: reason}
	}
	changed := func(e journal.Entry, change func(*journal.Entry)) journal.Entry {
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		entries []journal.Entry
		want    report.Finding
	}{
		"contested":       {[]journal.Entry{entry(journal.Corrected, "drift"), entry(journal.Contested, fought)}, as(f, decide.Contested, fought)},
		"a person's edit": {[]journal.Entry{entry(journal.Held, held)}, as(f, decide.Hold, held)},
		"spaced":          {[]journal.Entry{entry(journal.Held, spaced)}, as(f, decide.Hold, spaced)},
		"not restored":    {[]journal.Entry{entry(journal.Held, decide.NotRestored)}, as(f, decide.Hold, decide.NotRestored)},
		"another value": {[]journal.Entry{changed(entry(journal.Contested, fought), func(e *journal.Entry) { e.Live = 9 })},
			as(f, decide.Contested, fought)},

		"nothing":            {nil, f},
		"put back since":     {[]journal.Entry{entry(journal.Contested, fought), entry(journal.Corrected, "drift")}, f},
		"over":               {[]journal.Entry{entry(journal.Contested, strings.Replace(fought, "10:20:00", "10:09:59", 1))}, f},
		"held by the policy": {[]journal.Entry{entry(journal.Held, "remediation is off: drift is reported only")}, f},
		"another field":      {[]journal.Entry{changed(entry(journal.Contested, fought), func(e *journal.Entry) { e.Path = ".spec" })}, f},
		"another Git":        {[]journal.Entry{changed(entry(journal.Contested, fought), func(e *journal.Entry) { e.Git = 4 })}, f},
		"another value that an apply may restore": {
			[]journal.Entry{changed(entry(journal.Held, decide.NotRestored), func(e *journal.Entry) { e.Live = 9 })}, f},
	} {
		if diff := cmp.Diff(c.want, breaker.ApplyJournal(f, c.entries, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := breaker.ApplyJournal(as(f, decide.Cede, "HPA"), []journal.Entry{entry(journal.Contested, fought)}, now); got.Verdict != decide.Cede {
		t.Errorf("a ceded field waits for nothing: %v", got)
	}
	masked := journal.Entry{What: journal.Contested, Object: secret, Path: ".spec.replicas", Git: "*** (01234567)", Reason: fought}
	if got := breaker.ApplyJournal(differs("*** (76543210)", "*** (0)"), []journal.Entry{masked}, now); got.Verdict != decide.Contested {
		t.Errorf("a Secret's field, masked by another process: %v", got)
	}
}

// in is the evidence of a finding among others.
func in(id object.ID, f report.Finding) string {
	other := as(differs("; "+id.String()+" .spec.replicas: ", nil), decide.Contested, fought)
	after := as(differs("before", "after"), decide.Contested, fought)
	after.Path = field.NewPath("spec", "template")
	r := report.Report{Objects: []report.Object{
		{ID: object.ID{Kind: "Other", Name: "a"}, Findings: []report.Finding{other}}, {ID: id, Findings: []report.Finding{f, after, f}},
	}}
	return r.Contested(3).Text
}

func TestTheStatusSaysWhatIsContested(t *testing.T) {
	long := strings.Repeat("ü", 200)
	const trap = `8 (live, set by x): put back 9 times since 2026-11-21T10:00:00Z and changed again by y; the next try is at 2026-11-21T11:20:00Z`
	for _, git := range []any{int64(3), nil, "a (Git) vs b", long, map[string]any{"x": "y; z"}, trap} {
		for _, live := range []any{int64(8), nil, "b (live, set by c): d", long, []any{"1", nil}, trap} {
			f := differs(git, live)
			text := in(web, as(f, decide.Contested, fought))
			f.Live = "another one by now"
			if diff := cmp.Diff(as(f, decide.Contested, fought), breaker.ApplyEvidence(f, web, text, now)); diff != "" {
				t.Errorf("%v, %v: %s (-want +got):\n%s", git, live, text, diff)
			}
		}
	}
	gone := report.Finding{Kind: compare.Missing, Desired: map[string]any{}, Verdict: decide.Correct}
	const made = "made 2 times since 2026-11-21T10:00:00Z and deleted again; the next try is at 2026-11-21T10:20:00Z"
	if got := breaker.ApplyEvidence(gone, web, in(web, as(gone, decide.Contested, made)), now); got.Verdict != decide.Contested || got.Reason != made {
		t.Errorf("an object that is deleted again and again: %v", got)
	}
	masked := differs("*** (76543210)", "*** (0)")
	if got := breaker.ApplyEvidence(masked, secret, in(secret, as(differs("*** (01234567)", "*** (1)"), decide.Contested, fought)), now); got.Verdict != decide.Contested {
		t.Errorf("a Secret's field, masked by another process: %v", got)
	}
}

func TestTheStatusSaysNothingOfWhatItDoesNotName(t *testing.T) {
	f := differs(int64(3), int64(8))
	text := in(web, as(f, decide.Contested, fought))
	deeper := differs(int64(3), int64(8))
	deeper.Path = field.NewPath("spec")
	for name, got := range map[string]report.Finding{
		"over":           breaker.ApplyEvidence(f, web, text, now.Add(time.Hour)),
		"another Git":    breaker.ApplyEvidence(differs(int64(4), int64(8)), web, text, now),
		"another field":  breaker.ApplyEvidence(deeper, web, text, now),
		"another object": breaker.ApplyEvidence(f, object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "we"}, text, now),
		"its namesake":   breaker.ApplyEvidence(f, web, strings.ReplaceAll(text, "Deployment", "MyDeployment"), now),
		"nothing":        breaker.ApplyEvidence(f, web, "", now),
		"a cut text":     breaker.ApplyEvidence(f, web, text[:strings.Index(text, "the next try")]+"...", now),
	} {
		if got.Verdict != decide.Correct {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := breaker.ApplyEvidence(as(f, decide.Cede, "HPA"), web, text, now); got.Verdict != decide.Cede {
		t.Errorf("a ceded field waits for nothing: %v", got)
	}
}
