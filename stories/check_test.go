package stories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// aWebhook changes ConfigMaps of a namespace. Nothing listens at its address.
const aWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "%[1]s-%[2]s"}
webhooks:
- name: %[1]s.stories.truce.dev
  clientConfig: {url: "https://127.0.0.1:1/"}
  failurePolicy: Ignore
  sideEffects: None
  timeoutSeconds: 1
  admissionReviewVersions: [v1]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[2]s"}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  %[3]s
`

// TestACheckNamesTheAdmissionThatMayChangeAnObject: also one that matches the second object of a kind alone, and none whose conditions leave each object out.
func TestACheckNamesTheAdmissionThatMayChangeAnObject(t *testing.T) {
	labelled := strings.Replace(configMap("b"), `"name":"b"`, `"name":"b","labels":{"inject":"yes"}`, 1)
	w := newWorld(t, policy.Policy{}, configMaps("app", "a")+"-- app/b.yaml --\n"+labelled)
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	for name, rest := range map[string]string{
		"selected":  "objectSelector: {matchLabels: {inject: 'yes'}}",
		"elsewhere": "objectSelector: {matchLabels: {inject: 'no'}}",
		"of-b":      `matchConditions: [{name: c, expression: 'object.metadata.name == "b"'}]`,
		"never":     `matchConditions: [{name: c, expression: 'request.userInfo.username != ""'}, {name: d, expression: '"other" in object.data'}]`,
		"of-jane":   `matchConditions: [{name: c, expression: 'request.userInfo.username == "jane"'}]`,
		"changed":   `matchConditions: [{name: c, expression: 'oldObject != null && object.data != oldObject.data'}]`,
	} {
		w.Apply(t, fmt.Sprintf(aWebhook, name, w.ns, rest))
		w.removeNamed(name+"-"+w.ns, "mutatingwebhookconfigurations")
	}
	_, out := w.truce()("check", "-o", "json")
	var answer struct {
		Findings []struct{ Check, Subject, Message string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got []string
	for _, f := range answer.Findings {
		if name, ours := strings.CutSuffix(f.Subject, "-"+w.ns); ours && f.Check == "webhooks" {
			got = append(got, name+": "+f.Message)
		}
	}
	slices.Sort(got)
	var want []string
	for _, name := range []string{"changed", "of-b", "of-jane", "selected"} {
		want = append(want, "MutatingWebhookConfiguration "+name+": may change objects of apps: ConfigMap")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, out)
	}
}
