package attribution_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func review(name, user string, to int) []byte {
	return fmt.Appendf(nil, `{"request":{"uid":"r","resource":{"group":"apps","resource":"deployments"},"subResource":"scale","namespace":"shop","name":%q,
"operation":"UPDATE","userInfo":{"username":%q},"object":{"metadata":{"uid":"u"},"spec":{"replicas":%d}},"oldObject":{"metadata":{"uid":"u"},"spec":{"replicas":-1}}}}`, name, user, to)
}

// deployments is a cluster in which every resource is a Deployment, and every object is managed.
type deployments struct{}

func (deployments) KindOf(string, string) string { return "Deployment" }

func (deployments) Manages(object.ID) bool { return true }

func TestARingKeepsTheNewest(t *testing.T) {
	r := &attribution.Ring{Hasher: ownership.NewHasher(), Objects: deployments{}}
	id := func(name string) object.ID {
		return object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const many = 5000
	for i := range many {
		if !r.Add(review(fmt.Sprint("web-", i%10), fmt.Sprint("user-", i), i), start.Add(time.Duration(i)*time.Second)) {
			t.Fatal("it does not fit")
		}
		if i%100 == 0 {
			r.Drain()
		}
	}
	got := r.Of(id("web-3"))
	if len(got) < 300 || len(got) > 500 {
		t.Fatalf("%d records of one of ten objects", len(got))
	}
	for i, rec := range got {
		if want := fmt.Sprint("user-", many-7-10*i); rec.User != want {
			t.Fatalf("%d: %s, want %s: the newest first", i, rec.User, want)
		}
	}
}

func TestAWriteThatChangesMoreThanIsWorthTellingApartTouchesAll(t *testing.T) {
	labels := map[string]any{}
	for i := range 200 {
		labels[fmt.Sprint("l", i)] = "x"
	}
	body, err := json.Marshal(map[string]any{"request": map[string]any{
		"kind": map[string]any{"kind": "ConfigMap", "version": "v1"}, "namespace": "shop", "name": "c", "operation": "UPDATE",
		"userInfo":  map[string]any{"username": "alice"},
		"object":    map[string]any{"metadata": map[string]any{"uid": "u", "labels": labels}},
		"oldObject": map[string]any{"metadata": map[string]any{"uid": "u"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &attribution.Ring{Hasher: ownership.NewHasher(), Objects: deployments{}}
	r.Add(body, time.Now())
	got := r.Of(object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "c"})
	if len(got) != 1 || len(got[0].Changes) != 1 || got[0].Changes[0].Path != "." {
		t.Errorf("%+v", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(review("web", "alice", 5))
	f.Add([]byte(`{"request":{"operation":"UPDATE","object":{"metadata":{"managedFields":[{"manager":"a","operation":"Update","fieldsV1":{"f:x":{}}}]},"x":[{"name":"a"}]},"oldObject":{"x":[]}}}`))
	h := ownership.NewHasher()
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := attribution.ReadReview(body, h, func(string, string) string { return "" })
		if err != nil {
			return
		}
		for _, c := range r.Changes {
			if c.Hidden && c.To != 0 {
				t.Error("a hash of what is secret")
			}
		}
	})
}
