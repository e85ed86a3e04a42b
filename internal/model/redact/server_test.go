package redact_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// TestTheServersWordsTellNoSecret sends Secrets that are wrong in every way that quotes their values, and reads the refusals.
// The names of keys are no secret: the object is of no use without them.
func TestTheServersWordsTellNoSecret(t *testing.T) {
	c := kubetest.Start(t)
	ns := c.Namespace(t)
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	secrets := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(ns)
	head := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},`
	force, quotes := true, 0
	for _, body := range []string{
		head + `"data":{"password":"` + canary + `"}}`,
		head + `"data":{"password":["` + canary + `"]}}`,
		head + `"data":{"password":{"key":"` + canary + `"}}}`,
		head + `"data":"` + canary + `"}`,
		head + `"stringData":{"password":["` + canary + `",1]}}`,
		head + `"stringData":["` + canary + `"]}`,
		head + `"data":{"not a key /":"` + canary + `"}}`,
		head + `"unknown":"` + canary + `"}`,
		head + `"type":"kubernetes.io/tls","stringData":{"tls.crt":"` + canary + `"}}`,
		head + `"type":["` + canary + `"]}`,
		head + `"immutable":"` + canary + `"}`,
		head + `"data":{"password":` + canary + `}}`,
		head + `"data":{"a":"eA==","a":"` + canary + `"}}`,
	} {
		for _, kind := range []types.PatchType{types.ApplyPatchType, types.MergePatchType, types.StrategicMergePatchType} {
			opts := metav1.PatchOptions{FieldManager: "truce", FieldValidation: "Strict"}
			if kind == types.ApplyPatchType {
				opts.Force = &force
			}
			_, err := secrets.Patch(t.Context(), "db", kind, []byte(body), opts)
			if err == nil {
				continue
			}
			if strings.Contains(err.Error(), canary) {
				quotes++
			}
			if got := redact.Message(secret, err.Error()); strings.Contains(got, canary) {
				t.Errorf("%s\n%s\n%s", body, err, got)
			}
		}
		if err := secrets.Delete(t.Context(), "db", metav1.DeleteOptions{}); err == nil {
			continue
		}
		if _, err := secrets.Patch(t.Context(), "db", types.ApplyPatchType, []byte(head+`"data":{}}`), metav1.PatchOptions{FieldManager: "other", Force: &force}); err != nil {
			t.Fatal(err)
		}
	}
	if quotes == 0 {
		t.Error("the server quotes no value any more: this test says nothing")
	}
}
