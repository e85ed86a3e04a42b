package events_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/events"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

func TestEventsAboutOneObjectAreRead(t *testing.T) {
	c := kubetest.Start(t)
	ns := c.Namespace(t)
	for i, about := range []string{"web", "web", "other"} {
		c.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Event
metadata: {name: e%d, namespace: %s}
involvedObject: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, namespace: %s, name: %s}
reason: SuccessfulRescale
message: "New size: %d; reason: cpu"
source: {component: horizontal-pod-autoscaler}
firstTimestamp: "2026-01-01T12:00:00Z"
lastTimestamp: "2026-01-01T12:00:0%dZ"
type: Normal
`, i, ns, ns, about, 3+i, i))
	}
	client, err := cluster.NewClient(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	reader := events.NewReader(client)
	got, err := reader.Of(t.Context(), object.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: ns, Name: "web"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, e := range got {
		if e.Reporter != "horizontal-pod-autoscaler" || e.About.Name != "web" || e.At.Before(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v", e)
		}
	}
	var many strings.Builder
	for i := range 130 {
		fmt.Fprintf(&many, `
apiVersion: v1
kind: Event
metadata: {name: many.%03d, namespace: %s}
involvedObject: {apiVersion: v1, kind: Pod, namespace: %s, name: many}
reason: R%d
---`, i, ns, ns, i)
	}
	c.Apply(t, many.String())
	got, err = reader.Of(t.Context(), object.ID{Kind: "Pod", Namespace: ns, Name: "many"})
	if err != nil || !slices.ContainsFunc(got, func(e attribution.Event) bool { return e.Reason == "R129" }) {
		t.Errorf("%d of 130 Events, %v: the newest is not among them", len(got), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.Of(ended, object.ID{Kind: "Pod", Namespace: ns, Name: "x"}); err == nil {
		t.Error("no error of a request that was not made")
	}
}
