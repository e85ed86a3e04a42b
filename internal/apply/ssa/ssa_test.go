package ssa_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// TestAnAbsentNamespaceIsNoAbsentObject: the server's answer to a create there names the namespace, also where the object has the same name.
func TestAnAbsentNamespaceIsNoAbsentObject(t *testing.T) {
	k := kubetest.Start(t)
	client, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	w := ssa.Writer{Cluster: client}
	for _, name := range []string{"nowhere", "podinfo"} {
		target := apply.Target{
			GVK: object.GVK{Version: "v1", Kind: "ConfigMap"},
			ID:  object.ID{Kind: "ConfigMap", Namespace: "nowhere", Name: name},
		}
		body := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "nowhere"}}
		_, err := w.Apply(t.Context(), apply.Apply{Target: target, Body: body, Manager: ownership.Manager, Force: apply.Yield, DryRun: apply.Persist})
		if !errors.Is(err, live.ErrDoubtful) || errors.Is(err, apply.ErrGone) || !strings.Contains(err.Error(), `namespaces "nowhere" not found`) {
			t.Errorf("apply %s: %v", target.ID, err)
		}
	}
}

// TestAnAbsentObjectIsGone: also a Namespace, of which the server's answer is about a namespace.
func TestAnAbsentObjectIsGone(t *testing.T) {
	k := kubetest.Start(t)
	client, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	ns := k.Namespace(t)
	for _, id := range []object.ID{{Kind: "ConfigMap", Namespace: ns, Name: "absent"}, {Kind: "ConfigMap", Namespace: "absent", Name: "absent"}, {Kind: "Namespace", Name: "absent"}} {
		target := apply.Target{GVK: object.GVK{Version: "v1", Kind: id.Kind}, ID: id, UID: "1", ResourceVersion: "1"}
		if err := (ssa.Writer{Cluster: client}).Delete(t.Context(), target); !errors.Is(err, apply.ErrGone) {
			t.Errorf("delete %s: %v", id, err)
		}
	}
}
