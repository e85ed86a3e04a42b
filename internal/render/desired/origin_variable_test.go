package desired_test

import (
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// TestAValueIsFollowedToItsVariable has an object as it is when the variables are replaced.
func TestAValueIsFollowedToItsVariable(t *testing.T) {
	files := fstest.MapFS{"web.yaml": {Data: []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {plain: text, own: "${colour}", both: "${colour}-${size}", missing: "${nosuch}", cut: "${size:0:1}", kept: "$${size}"}}
spec:
  replicas: ${count}
  paused: ${paused:=true}
`)}}
	ref := func(kind, name string) variables.Reference { return variables.Reference{Kind: kind, Name: name} }
	a := app.App{Key: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, Path: ".", PostBuild: variables.Spec{
		Values: map[string]string{"colour": "blue"}, From: []variables.Reference{ref("ConfigMap", "vars"), ref("Secret", "more")},
	}}
	o := desired.Object{ID: object.ID{Group: "apps", Kind: "Deployment", Name: "web"}, File: "web.yaml", Line: 1, Data: object.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "annotations": map[string]any{
			"plain": "text", "own": "blue", "both": "blue-big", "missing": "", "cut": "b", "kept": "${size}",
		}},
		"spec": map[string]any{"replicas": int64(3), "paused": true},
	}}
	read := func(r variables.Reference) (map[string]string, error) {
		return map[string]map[string]string{"vars": {"count": "3", "colour": "red"}, "more": {"size": "big"}}[r.Name], nil
	}
	set, err := variables.CollectSet(a.PostBuild, read)
	if err != nil {
		t.Fatal(err)
	}
	const own = "spec.postBuild.substitute.colour of Kustomization flux-system/web"
	for path, want := range map[string][2]string{ // with all variables, and with the app's own
		"metadata/annotations/plain":   {"", ""},
		"metadata/annotations/own":     {own, own},
		"metadata/annotations/both":    {own + ", key size of Secret flux-system/more", "inexact"},
		"metadata/annotations/missing": {"inexact", "inexact"},
		"metadata/annotations/cut":     {"inexact", "inexact"},
		"metadata/annotations/kept":    {"inexact", "inexact"},
		"spec/replicas":                {"key count of ConfigMap flux-system/vars", "inexact"},
		"spec/paused":                  {"the default of ${paused}", "inexact"},
	} {
		p := parsePath(t, path)
		for i, places := range [][]desired.Place{desired.SubstitutedOrigins(files, a, o, set)(p), desired.FieldOrigins(files, a, o)(p)} {
			if len(places) != 1 {
				t.Fatalf("%s: %v", path, places)
			}
			got := places[0].Variable
			if !places[0].Exact {
				got = "inexact"
			}
			if got != want[i] {
				t.Errorf("%s: %q, want %q", path, got, want[i])
			}
		}
	}
}
