package variables_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/variables"
)

func TestLaterReferencesWinAndTheAppItselfWinsOverAll(t *testing.T) {
	data := map[string]map[string]string{
		"a": {"one": "a", "two": "a", "three": "a"},
		"b": {"two": "x\ny\n", "three": "b"},
		"c": nil,
	}
	spec := variables.Spec{Values: map[string]string{"three": "own\n"}, From: []variables.Reference{{Kind: "Secret", Name: "a"}, {Kind: "ConfigMap", Name: "b"}, {Kind: "Secret", Name: "c"}}}
	got, err := variables.CollectSet(spec, func(r variables.Reference) (map[string]string, error) { return data[r.Name], nil })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]variables.Variable{"one": {Value: "a", From: variables.FromSecret, By: spec.From[0]}, "two": {Value: "xy", By: spec.From[1]}, "three": {Value: "own"}}
	if diff := cmp.Diff(want, got.Variables); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, got.SecretValues()); diff != "" {
		t.Errorf("secret values (-want +got):\n%s", diff)
	}
}

func TestWithoutVariablesNothingIsReplacedUnlessAlways(t *testing.T) {
	none := func(variables.Reference) (map[string]string, error) { return nil, nil }
	refs := []variables.Reference{{Kind: "ConfigMap", Name: "a"}}
	if s, err := variables.CollectSet(variables.Spec{From: refs}, none); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := variables.CollectSet(variables.Spec{From: refs, When: variables.Always}, none); s == nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	failure := errors.New("no")
	if _, err := variables.CollectSet(variables.Spec{From: refs}, func(variables.Reference) (map[string]string, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if (variables.Spec{}).IsSet() || (*variables.Set)(nil).Secrets() != nil {
		t.Error("the zero values say something")
	}
}

func TestTheDataOfASecretIsDecoded(t *testing.T) {
	secret := object.Object{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "eA==", "b": "eA=="}, "stringData": map[string]any{"b": "y"}}
	got, err := variables.TextValues(secret)
	if diff := cmp.Diff(map[string]string{"a": "x", "b": "y"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	secret["data"] = map[string]any{"a": "not base64"}
	if _, err := variables.TextValues(secret); err == nil {
		t.Error("what is no base64 is taken")
	}
	open := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "eA=="}, "stringData": map[string]any{"b": "y"}}
	if got, _ := variables.TextValues(open); !cmp.Equal(got, map[string]string{"a": "eA=="}) {
		t.Error(got)
	}
}
