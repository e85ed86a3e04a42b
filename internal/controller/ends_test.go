package controller

import (
	"context"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// deaf is a receiver of Events.
type deaf struct{}

func (deaf) Send(context.Context, notify.Message) error { return nil }

// TestAReceiverOfEventsHearsTheEnds that no message says by itself: once, of what it has heard of, and not of what a claimant has.
func TestAReceiverOfEventsHearsTheEnds(t *testing.T) {
	c, s, _ := speaking(t)
	c.Notify = deaf{}
	cr := resource()
	key := c.setApp(t, s, cr)
	about := func(kind, field string, phase notify.Phase) notify.Message {
		return notify.Message{
			Event:  notify.Event{Severity: notify.Error, Reason: "DriftDetected", Text: field},
			Matter: notify.Matter{Kind: kind, Object: "Deployment shop/web", Field: field, Phase: phase, Form: string(phase)},
		}
	}
	for _, m := range []notify.Message{
		about(matter.Contested, "a", notify.Opens), about(matter.Drift, "b", notify.Opens), about(matter.Ceded, "c", notify.Opens), about(matter.Drift, "d", notify.Opens),
		about(matter.Drift, "d", notify.Ends), about(matter.Unhealthy, "", notify.Opens), about(matter.Failure, "", notify.Opens),
	} {
		c.emitMessage(key, m)
	}
	holds := []notify.Matter{about(matter.Drift, "b", notify.Opens).Matter}
	for i, want := range [][]string{{"FieldSettled a", "HealthRecovered "}, nil} {
		var got []string
		for _, m := range c.takeEnded(messageAbout(cr), key, holds) {
			got = append(got, m.Reason+" "+m.Matter.Field)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("look %d: %q, want %q", i+1, got, want)
		}
	}
}
