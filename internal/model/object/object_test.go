package object

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDNamesAnObjectWithoutItsVersion(t *testing.T) {
	o := Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"}}
	if diff := cmp.Diff(ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, o.ID()); diff != "" {
		t.Errorf("ID (-want +got):\n%s", diff)
	}
	if got := o.ID().String(); got != "Deployment.apps shop/web" {
		t.Errorf("String() = %q", got)
	}
	core := Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
	if got := core.ID().String(); got != "Namespace shop" {
		t.Errorf("String() = %q", got)
	}
	if got := core.GVK().APIVersion(); got != "v1" {
		t.Errorf("APIVersion() = %q", got)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	o := Object{"spec": map[string]any{"args": []any{"a", map[string]any{"b": int64(1)}}}}
	c := o.Clone()
	c["spec"].(map[string]any)["args"].([]any)[1].(map[string]any)["b"] = int64(2)
	if got := o.At("spec", "args").([]any)[1].(map[string]any)["b"]; got != int64(1) {
		t.Errorf("the source changed with its clone: %v", got)
	}
}

func TestReadingAnEmptyObjectFindsNothing(t *testing.T) {
	var o Object
	if id := o.ID(); id != (ID{}) {
		t.Errorf("ID of nothing = %v", id)
	}
	if _, ok := o.Label("x"); ok {
		t.Error("an empty object has a label")
	}
}

func TestAnObjectIsPrintedAsItsName(t *testing.T) {
	o := Object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "db"}, "stringData": map[string]any{"password": "hunter2"}}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("read", "object", o)
	for _, text := range []string{fmt.Sprint(o), fmt.Sprintf("%v %+v %#v %s %q %x", o, o, o, o, o, o), fmt.Sprintf("%+v", struct{ Live Object }{o}), fmt.Errorf("read %v", o).Error(), log.String()} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) || !strings.Contains(text, "Secret shop/db") {
			t.Error(text)
		}
	}
}

func TestAnIDIsReadAsItIsPrinted(t *testing.T) {
	for _, id := range []ID{
		{Kind: "Namespace", Name: "shop"}, {Kind: "ConfigMap", Namespace: "shop", Name: "web.a"}, {Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:web"},
	} {
		if got, err := ParseID(id.String()); err != nil || got != id {
			t.Errorf("%s is read as %#v, error %v", id, got, err)
		}
	}
	for _, text := range []string{"", "Namespace", "Namespace ", " shop"} {
		if id, err := ParseID(text); err == nil {
			t.Errorf("%q is read as %#v", text, id)
		}
	}
}
