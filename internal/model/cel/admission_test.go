package cel_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestAConditionOfAdmissionIsFalseOnlyIfItIsCertain: what is unknown of a request may make any condition true.
func TestAConditionOfAdmissionIsFalseOnlyIfItIsCertain(t *testing.T) {
	object := given.Object(t, `{metadata: {name: web, labels: {app: web}}, spec: {replicas: 3}}`)
	update := map[string]any{"operation": "UPDATE", "namespace": "shop", "name": "web", "resource": map[string]any{"group": "apps", "resource": "deployments"}}
	create := map[string]any{"operation": "CREATE"}
	for text, want := range map[string]struct{ update, create bool }{
		`false`:                              {true, true},
		`true`:                               {false, false},
		`"inject" in object.metadata.labels`: {true, true},
		`has(object.metadata.annotations) && "inject" in object.metadata.annotations`: {true, true},
		`object.spec.replicas > 2`:              {false, false},
		`object.spec.paused`:                    {false, false}, // an error: the server does with it as failurePolicy says
		`request.operation == "CREATE"`:         {true, false},
		`request.resource.group != "apps"`:      {true, false},
		`request.namespace == "kube-system"`:    {true, false},
		`request.userInfo.username == "jane"`:   {false, false},
		`has(request.dryRun) && request.dryRun`: {false, false},
		`"dryRun" in request`:                   {false, false},
		`!("system:nodes" in request.userInfo.groups) && "inject" in object.metadata.labels`: {true, true},
		`oldObject == null`: {false, false},
		`oldObject != null`: {false, true},
		`has(oldObject.metadata) && object.metadata.labels != oldObject.metadata.labels`: {false, true},
		`authorizer.group("").resource("pods").check("get").allowed()`:                   {false, false},
		`params.on`:                            {false, false},
		`namespaceObject.metadata.name == "x"`: {false, false},
	} {
		e, err := cel.CompileAdmission(text)
		if err != nil {
			if !want.update && !want.create {
				continue // no condition here is not known to be false either
			}
			t.Errorf("%s: %v", text, err)
			continue
		}
		for what, c := range map[string]struct {
			request map[string]any
			want    bool
		}{"update": {update, want.update}, "create": {create, want.create}} {
			if got, err := e.IsFalseOf(object, c.request); got != c.want || err != nil {
				t.Errorf("%s: %s: false for certain: %v, %v, want %v", text, what, got, err, c.want)
			}
		}
	}
}
