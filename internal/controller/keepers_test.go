package controller

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

const team = "team-a"

func held(by string, until time.Time) hold { return hold{by: by, until: until} }

func TestALeaseThatIsRenewedWhenItRunsOutHolds(t *testing.T) {
	k, now := newKeepers(), time.Now()
	k.saw(team, held("other", now.Add(time.Minute)), now)
	if by, _, turned := k.turn(team, nil, now); by != "other" || !turned {
		t.Fatalf("kept by %q, turned: %t", by, turned)
	}
	later := now.Add(2 * time.Minute) // the timer of the old Lease wakes us, and the new one has just come
	k.saw(team, held("other", later.Add(time.Minute)), later)
	if by, lasts, turned := k.turn(team, nil, later); by != "other" || lasts != time.Minute || turned {
		t.Errorf("kept by %q for %v, turned: %t", by, lasts, turned)
	}
	if by := k.of(team, later); by != "other" {
		t.Error("the new Lease was forgotten")
	}
}

func TestANamespaceThatWasTakenBackIsOursWhenEachAppHasToldWhatItKeeps(t *testing.T) {
	k, now := newKeepers(), time.Now()
	c := &Controller{keepers: k}
	a, b := app.Key{Kind: "Kustomization", Namespace: team, Name: "a"}, app.Key{Kind: "Kustomization", Namespace: team, Name: "b"}
	k.saw(team, held("other", now.Add(time.Minute)), now)
	k.turn(team, []app.Key{a, b}, now)
	if by, _, turned := k.turn(team, []app.Key{a, b}, now.Add(time.Minute)); by != "" || !turned {
		t.Fatalf("kept by %q, turned: %t", by, turned)
	}
	k.done(b) // is gone
	for _, early := range []report.Stage{report.Fetch, report.Render, report.Normalize, report.Validate, report.WriteInventory} {
		k.ran(a, report.Report{Stage: early})
		if len(c.Apart()) != 1 {
			t.Fatalf("a run that has ended at %s frees what the app keeps", early)
		}
	}
	k.ran(a, report.Report{Stage: report.Apply})
	if apart := c.Apart(); len(apart) != 0 {
		t.Errorf("still apart: %q", apart)
	}
}

func TestANamespaceIsApartWhileItsOwnLeaseIsNotHeld(t *testing.T) {
	k, now := newKeepers(), time.Now()
	k.held[team] = now.Add(9 * time.Minute)
	if by, lasts, turned := k.turn(team, nil, now); by != "" || lasts != 9*time.Minute || turned {
		t.Errorf("at the start: kept by %q for %v, turned: %t", by, lasts, turned)
	}
	work, end := k.within(t.Context(), team)
	defer end()
	later := now.Add(9 * time.Minute) // and it could not be renewed
	if by := k.of(team, later); by != anybody {
		t.Errorf("kept by %q when the Lease may run out", by)
	}
	if _, _, turned := k.turn(team, nil, later); !turned {
		t.Error("not said that it is apart")
	}
	<-work.Done() // what was under way is cut off
	k.held[team] = later.Add(9 * time.Minute)
	if by, lasts, turned := k.turn(team, nil, later); by != "" || lasts != 9*time.Minute || !turned {
		t.Errorf("held again: kept by %q for %v, turned: %t", by, lasts, turned)
	}
}
