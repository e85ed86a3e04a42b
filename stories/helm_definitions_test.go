package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartWithDefinition has a definition in its directory crds, and an object of its kind.
const chartWithDefinition = chartOfThings + `
-- charts/web/crds/thing.yaml --
` + definitionOfThing + `
-- definitions/thing.yaml --
` + definitionOfThing

const chartOfThings = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/templates/thing.yaml --
{apiVersion: NAMESPACE.stories.truce.dev/v1, kind: Thing, metadata: {name: "{{ .Release.Name }}"}}
`

const definitionOfThing = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAMESPACE.stories.truce.dev}
spec:
  group: NAMESPACE.stories.truce.dev
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestSeveralAppsNameADefinition: as in Helm the definitions of a chart's directory crds are no part of its release. They are created where they are
// missing, by any of its releases, and are kept by the app that describes them itself.
func TestSeveralAppsNameADefinition(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithDefinition)
	definition := w.removesDefinition()
	partOf := func() string {
		return w.kubectl("get", "crd", definition, "-o", `jsonpath={.metadata.labels.truce\.dev/part-of}`)
	}
	w.release("first", "")
	w.released("first", 1, "1.0.0")
	w.release("second", "  install: {crds: CreateReplace}\n  upgrade: {crds: CreateReplace}\n")
	w.released("second", 1, "1.0.0")
	w.release("third", "")
	w.released("third", 1, "1.0.0")
	if got := partOf(); got != w.ns+".second_HelmRelease" {
		t.Errorf("the definition is of %s, want the release that keeps it as the chart has it", got)
	}
	w.fileSource("all", w.repo)
	w.kustomization("definitions", "all", "path: ./definitions\nprune: true\ninterval: 1h")
	w.ready("definitions")
	w.until("the app that describes the definition to have it", func() bool { return partOf() == w.ns+".definitions" })
	for _, name := range []string{"first", "second", "third"} {
		w.looksAgain(name, "again")
		w.released(name, 1, "1.0.0")
	}
}

// TestARollbackChangesNoDefinition: as in Helm the definitions of the upgrade that has failed stay, also between the releases that follow, and after a revert.
func TestARollbackChangesNoDefinition(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithRemedies+"-- charts/web/crds/thing.yaml --\n"+definitionOfThing)
	definition := w.removesDefinition()
	w.release("web", "  install: {crds: CreateReplace}\n  upgrade: {crds: CreateReplace, remediation: {remediateLastFailure: true}}\n  driftDetection: {mode: enabled}\n")
	w.released("web", 1, "1.0.0")
	const values, chart, crd = "charts/web/values.yaml", "charts/web/Chart.yaml", "charts/web/crds/thing.yaml"
	before := map[string]string{}
	for _, name := range []string{values, chart, crd} {
		before[name] = w.repo.Git("show", "HEAD:"+name) + "\n"
	}
	w.repo.Commit(map[string]string{
		values: "upgrade: \"3\"\ntest: \"0\"\n", chart: strings.Replace(before[chart], "1.0.0", "1.1.0", 1),
		crd: strings.Replace(before[crd], "{type: object,", "{type: object, properties: {size: {type: integer}},", 1),
	}, "fails")
	isNewer := func(when string) {
		t.Helper()
		if got := w.kubectl("get", "crd", definition, "-o", "jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.size.type}"); got != "integer" {
			t.Errorf("%s: the definition is that of the version before", when)
		}
	}
	w.helmReason("Remediated", "True", "RollbackSucceeded", "web@1.0.0")
	isNewer("after the rollback")
	w.looksAgain("web", "look")
	isNewer("after the next run")
	w.repo.Commit(before, "revert")
	w.released("web", 3, "1.0.0")
	isNewer("after the revert")
}

// TestAReleaseWaitsForItsKinds: as in Helm nothing is stored before the kinds of a chart are served, so that no attempt is used up.
func TestAReleaseWaitsForItsKinds(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfThings)
	w.removesDefinition()
	w.release("web", "")
	w.helmReason("Ready", "False", "InstallFailed", "the API server does not serve this kind at "+w.ns+".stories.truce.dev/v1")
	w.looksAgain("web", "once")
	w.looksAgain("web", "twice")
	o := w.get(helmReleases, "web")
	if text := conditionText(o, "Stalled"); text != "" || w.storedReleases("web") != "" {
		t.Errorf("it is stalled (%s), or a release is stored: %s", text, w.storedReleases("web"))
	}
	w.piped(strings.ReplaceAll(definitionOfThing, "NAMESPACE", w.ns), "create", "--field-manager=stories")
	w.released("web", 1, "1.0.0")
}

// TestADefinitionThatAPersonHasDeletedDelaysNoRun: between releases drift is only reported, and so is that a definition is missing. The next release
// brings it back.
func TestADefinitionThatAPersonHasDeletedDelaysNoRun(t *testing.T) {
	w := newWorld(t, policy.Policy{}, strings.Replace(chartWithDefinition, "templates/thing.yaml", "templates/NOTES.txt", 1))
	definition := w.removesDefinition()
	w.release("web", "")
	w.released("web", 1, "1.0.0")
	w.delete(crds, "", definition)
	w.looksAgain("web", "deleted")
	w.helmReason("Ready", "False", "HealthCheckFailed", definition+" is missing")
	w.looksAgain("web", "once more")
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	w.released("web", 2, "1.1.0")
	w.kubectl("get", "crd", definition) // fails where it is not there
}

// TestALabelThatIsNoStringIsNoAttempt: as in Helm nothing is stored and nothing is applied, so that an upgrade leaves what is deployed.
func TestALabelThatIsNoStringIsNoAttempt(t *testing.T) {
	const of = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, %s: {x: %s}}\ndata: {v: \"%s\"}\n"
	w := newWorld(t, policy.Policy{}, "-- charts/web/Chart.yaml --\n{apiVersion: v2, name: web, version: 1.0.0}\n-- charts/web/templates/a.yaml --\n"+fmt.Sprintf(of, "a", "labels", "1", "one"))
	w.release("web", "  upgrade: {remediation: {retries: 1}}\n")
	w.helmReason("Ready", "False", "InstallFailed", "charts/web/templates/a.yaml:1", "metadata.labels.x is no string")
	w.looksAgain("web", "once")
	if o := w.get(helmReleases, "web"); conditionText(o, "Stalled") != "" || w.storedReleases("web") != "" {
		t.Errorf("it is stalled (%s), or a release is stored: %s", conditionText(o, "Stalled"), w.storedReleases("web"))
	}
	w.repo.Commit(map[string]string{"charts/web/templates/a.yaml": fmt.Sprintf(of, "a", "labels", `"1"`, "one")}, "quoted")
	w.released("web", 1, "1.0.0")
	w.repo.Commit(map[string]string{
		"charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.1.0}\n", "charts/web/templates/a.yaml": fmt.Sprintf(of, "a", "labels", `"1"`, "two"),
		"charts/web/templates/b.yaml": fmt.Sprintf(of, "b", "annotations", "true", "two"),
	}, "an annotation")
	w.helmReason("Ready", "False", "UpgradeFailed", "charts/web/templates/b.yaml:1", "metadata.annotations.x is no string")
	if got := w.storedReleases("web"); got != "1:deployed" || value(w.get(configmaps, "a"), "v") != "one" {
		t.Errorf("stored: %s, and the object is of %s", got, value(w.get(configmaps, "a"), "v"))
	}
}

// removesDefinition has the definition deleted at the end of the story, and returns its name.
func (w *world) removesDefinition() string {
	name := "things." + w.ns + ".stories.truce.dev"
	w.t.Cleanup(func() {
		if err := w.dynamic().Resource(crds).Delete(context.WithoutCancel(w.ctx), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Error(err)
		}
	})
	return name
}

// conditionText is the reason of a condition; empty where there is none.
func conditionText(o *unstructured.Unstructured, kind string) string {
	for _, c := range entries(o, "status", "conditions") {
		if c["type"] == kind {
			text, _ := c["reason"].(string)
			return text
		}
	}
	return ""
}
