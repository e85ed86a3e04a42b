package schema_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
)

func TestWhatTheServerFillsIn(t *testing.T) {
	top, ok := schema.Builtin().Of(object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"})
	if !ok {
		t.Fatal("no Deployment")
	}
	spec, _ := top.Field("spec")
	template, _ := spec.Field("template")
	pod, _ := template.Field("spec")
	containers, _ := pod.Field("containers")
	update := map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}
	for _, c := range []struct {
		in    *schema.Type
		field string
		value any
		want  bool
	}{
		{spec, "progressDeadlineSeconds", int64(600), true}, {spec, "progressDeadlineSeconds", int64(601), false}, {spec, "minReadySeconds", int64(0), false},
		{spec, "strategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": update}, true}, {spec, "strategy", map[string]any{"type": "Recreate"}, false},
		{pod, "securityContext", map[string]any{}, true}, {pod, "securityContext", map[string]any{"runAsUser": int64(1)}, false}, {pod, "dnsPolicy", "ClusterFirst", true},
		{containers.Item(), "imagePullPolicy", "Always", true}, {containers.Item(), "imagePullPolicy", "Never", false}, {containers.Item(), "image", "", false},
		{nil, "anything", nil, false},
	} {
		if got := c.in.IsDefault(c.field, c.value); got != c.want {
			t.Errorf("%s %v: %v, want %v", c.field, c.value, got, c.want)
		}
	}
}
