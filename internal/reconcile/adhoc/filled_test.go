package adhoc

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestWhatTheServerFillsIn is a default, what it allocates, and what it copies from another field; another value is another writer's.
func TestWhatTheServerFillsIn(t *testing.T) {
	deployment := given.Object(t, `
apiVersion: apps/v1
kind: Deployment
spec:
  progressDeadlineSeconds: 600
  minReadySeconds: 9
  template:
    spec:
      serviceAccountName: web
      serviceAccount: web
      containers:
      - {name: web, terminationMessagePath: /dev/termination-log, imagePullPolicy: Never, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1, memory: 2Gi}}}
      - {name: log, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}`)
	other := given.Object(t, "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {serviceAccountName: web, serviceAccount: old}}}")
	service := given.Object(t, "apiVersion: v1\nkind: Service\nspec: {clusterIP: 10.0.0.1, externalName: web}")
	custom := given.Object(t, "apiVersion: example.com/v1\nkind: Deployment\nspec: {progressDeadlineSeconds: 600}")
	pod := field.NewPath("spec", "template", "spec")
	in := func(container string, names ...string) field.Path {
		p := append(pod[:len(pod):len(pod)], field.NewPath("containers")...)
		p = append(p, field.KeyElement(map[string]any{"name": container}, []string{"name"}))
		return append(p, field.NewPath(names...)...)
	}
	kinds := schema.Builtin()
	for name, c := range map[string]struct {
		live object.Object
		path field.Path
		want bool
	}{
		"a default":                  {deployment, field.NewPath("spec", "progressDeadlineSeconds"), true},
		"another value":              {deployment, field.NewPath("spec", "minReadySeconds"), false},
		"what is not there":          {deployment, field.NewPath("spec", "paused"), false},
		"a container's default":      {deployment, in("web", "terminationMessagePath"), true},
		"a container's value":        {deployment, in("web", "imagePullPolicy"), false},
		"a container":                {deployment, in("web"), false},
		"a request like its limit":   {deployment, in("web", "resources", "requests", "cpu"), true},
		"a request of another value": {deployment, in("web", "resources", "requests", "memory"), false},
		"requests like the limits":   {deployment, in("log", "resources", "requests"), true},
		"other requests":             {deployment, in("web", "resources", "requests"), false},
		"limits are never copied":    {deployment, in("web", "resources", "limits", "cpu"), false},
		"the old form of a name":     {deployment, append(pod, field.NewPath("serviceAccount")...), true},
		"another name":               {other, append(pod, field.NewPath("serviceAccount")...), false},
		"the new form":               {other, append(pod, field.NewPath("serviceAccountName")...), false},
		"an address":                 {service, field.NewPath("spec", "clusterIP"), true},
		"a name":                     {service, field.NewPath("spec", "externalName"), false},
		"a custom resource":          {custom, field.NewPath("spec", "progressDeadlineSeconds"), false},
		"the object":                 {deployment, nil, false},
	} {
		if got := isFilled(kinds, c.live, c.path); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if isFilled(nil, c.live, c.path) {
			t.Errorf("%s: nothing is known of any kind", name)
		}
	}
}

// TestWhatGitNeverNames is the server's, or a tool's mark.
func TestWhatGitNeverNames(t *testing.T) {
	for _, c := range []struct {
		path field.Path
		want bool
	}{
		{field.NewPath("status", "replicas"), true},
		{field.NewPath("kind"), true},
		{field.NewPath("apiVersion"), true},
		{field.NewPath("spec", "status"), false},
		{field.NewPath("metadata", "uid"), true},
		{field.NewPath("metadata"), true},
		{field.NewPath("metadata", "labels", "team"), false},
		{field.NewPath("metadata", "labels"), false},
		{field.NewPath("metadata", "annotations", "note"), false},
		{field.NewPath("metadata", "finalizers"), false},
		{field.NewPath("metadata", "labels", object.PartOf), true},
		{field.Path{field.KeyElement(map[string]any{"name": "a"}, []string{"name"})}, false},
	} {
		if got := isServers(c.path); got != c.want {
			t.Errorf("%s: %t", field.PathString(c.path), got)
		}
	}
}
