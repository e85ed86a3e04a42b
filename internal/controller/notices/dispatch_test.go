package notices

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// TestABuildThatIsRepairedIsClosedThoughItsHealthCheckFails: of an on-call tool; the failed health check is an alert of its own.
func TestABuildThatIsRepairedIsClosedThoughItsHealthCheckFails(t *testing.T) {
	store, err := outbox.OpenStore(filepath.Join(t.TempDir(), "notifications"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	key := route.Key{Namespace: "shop", Name: "pager"}
	o := NewOutlet(Options{Store: store})
	o.alerts[key] = alertEntry{alert: route.Alert{Key: key, Provider: "pager", ErrorsOnly: true, Sources: []route.Source{{Kind: "Kustomization", Name: "*", Namespace: "shop"}}}}
	o.providers[key] = providerEntry{provider: route.Provider{Key: key, Type: "pagerduty"}}
	say := func(reason string, m notify.Matter) {
		t.Helper()
		about := object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "shop", Name: "web"}
		err := store.Update(func(tx *outbox.Tx) error {
			return o.step(tx, notify.Message{Event: notify.Event{Severity: notify.Error, Reason: reason, Text: reason}, About: about, Matter: m, At: time.Now()}, map[route.Key]bool{})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	say("BuildFailed", notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: "x"})
	say("HealthCheckFailed", notify.Matter{Kind: matter.Unhealthy, Phase: notify.Opens})
	say("HealthCheckFailed", notify.Matter{Kind: matter.Unhealthy, Phase: notify.Opens})
	items, _, err := store.Pending(key)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range items {
		got = append(got, fmt.Sprintf("%s %s %t", i.Message.Matter.Kind, i.Message.Matter.Phase, i.ClosesOnly))
	}
	if want := []string{"failure opens false", "failure ends true", "health opens false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
