package reconcile

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// refusesThenHangs reads one object that may not be read, and no other before the time is over.
type refusesThenHangs struct {
	live.Reader
	refused string
}

func (s refusesThenHangs) Get(ctx context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	if id.Name == s.refused {
		return nil, errors.New("forbidden")
	}
	<-ctx.Done()
	return nil, live.Unanswered(ctx.Err())
}

// TestARunWhoseTimeIsOverSaysWhatHasFailed: what has failed by itself, and of the rest how many objects, not each of them.
func TestARunWhoseTimeIsOverSaysWhatHasFailed(t *testing.T) {
	e := NewEngine(Dependencies{Live: refusesThenHangs{refused: "b"}, Now: time.Now, ObjectsAtOnce: 3}, nil)
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	r := &appRun{engine: e, state: e.state(key), app: app.App{Key: key, Policy: policy.Policy{Mode: policy.Enforce}}}
	r.state.app = r.app
	for _, name := range []string{"a", "b", "c"} {
		o := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"}}
		r.set.Objects = append(r.set.Objects, desired.Object{ID: o.ID(), GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}, Data: o, File: name + ".yaml", Line: 1})
	}
	if err := r.claimObjects(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	err := r.apply(ctx)
	want := "b.yaml:1: ConfigMap shop/b: read: forbidden\n2 of 3 objects could not be compared in time, such as ConfigMap shop/a: context deadline exceeded"
	if err == nil || err.Error() != want || reasonOf(err) != report.ApplyFailed || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %s", err, want)
	}
}
