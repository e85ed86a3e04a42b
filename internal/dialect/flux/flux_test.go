package flux

import (
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/examples"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func crd(t *testing.T, plural string) object.Object {
	t.Helper()
	data, err := deploy.CRDs.ReadFile("crds/" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return given.Object(t, string(data))
}

func properties(t *testing.T, crd object.Object, of string) map[string]any {
	t.Helper()
	props, ok := object.Object(servedSchema(crd, "v1")).At("properties", of, "properties").(map[string]any)
	if !ok {
		t.Fatalf("%s: no properties of %s", crd.Name(), of)
	}
	return props
}

func TestTheCRDsHaveEveryFieldThatIsRead(t *testing.T) {
	for _, c := range []struct {
		plural, of string
		decoded    reflect.Type
	}{
		{"kustomizations", "spec", reflect.TypeFor[KustomizationSpec]()},
		{"kustomizations", "status", reflect.TypeFor[kustomizev1.KustomizationStatus]()},
		{"gitrepositories", "spec", reflect.TypeFor[sourcev1.GitRepositorySpec]()},
		{"ocirepositories", "spec", reflect.TypeFor[sourcev1.OCIRepositorySpec]()},
		{"ocirepositories", "status", reflect.TypeFor[sourcev1.OCIRepositoryStatus]()},
		{"gitrepositories", "status", reflect.TypeFor[sourcev1.GitRepositoryStatus]()},
	} {
		got := slices.Sorted(maps.Keys(properties(t, crd(t, c.plural), c.of)))
		want := jsonFields(c.decoded)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s .%s: run `go generate ./deploy` (-type +CRD):\n%s", c.plural, c.of, diff)
		}
	}
}

func jsonFields(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			names = append(names, jsonFields(f.Type)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

func TestDropsTellsWhichFieldsAForeignCRDLoses(t *testing.T) {
	ours := crd(t, "kustomizations")
	if got := (Definitions{}).DroppedFields(ours); got != nil {
		t.Errorf("our own CRD drops %q", got)
	}

	fluxs := ours.Clone()
	props := properties(t, fluxs, "spec")
	for _, f := range []string{"ignoreDifferences", "syncInterval", "remediation", "validation"} {
		delete(props, f)
	}
	all := []string{"spec.ignoreDifferences", "spec.syncInterval", "spec.remediation", "spec.validation"}
	if diff := cmp.Diff(all, (Definitions{}).DroppedFields(fluxs)); diff != "" {
		t.Errorf("Flux's CRD (-want +got):\n%s", diff)
	}

	partly := ours.Clone()
	delete(object.Object(properties(t, partly, "spec")).At("remediation", "properties").(map[string]any), "remediationInterval")
	delete(object.Object(properties(t, partly, "spec")).At("ignoreDifferences", "items", "properties").(map[string]any), "jsonPatches")
	if diff := cmp.Diff([]string{"spec.ignoreDifferences.[].jsonPatches", "spec.remediation.remediationInterval"}, (Definitions{}).DroppedFields(partly)); diff != "" {
		t.Errorf("a CRD with parts of them (-want +got):\n%s", diff)
	}

	open := fluxs.Clone()
	object.Object(servedSchema(open, "v1")).At("properties", "spec").(map[string]any)["x-kubernetes-preserve-unknown-fields"] = true
	if got := (Definitions{}).DroppedFields(open); got != nil {
		t.Errorf("a CRD that preserves unknown fields drops %q", got)
	}

	unserved := ours.Clone()
	unserved.At("spec", "versions").([]any)[0].(map[string]any)["served"] = false
	if diff := cmp.Diff(all, (Definitions{}).DroppedFields(unserved)); diff != "" {
		t.Errorf("a CRD whose v1 is not served (-want +got):\n%s", diff)
	}

	if got := (Definitions{}).DroppedFields(crd(t, "gitrepositories")); got != nil {
		t.Errorf("another CRD: %q", got)
	}
}

func TestTheExamplesAreUnderstood(t *testing.T) {
	read := 0
	err := fs.WalkDir(examples.Demo, "demo/clusters", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := examples.Demo.ReadFile(path)
		if err != nil {
			return err
		}
		var problems []app.Problem
		var notes []string
		switch cr := given.Object(t, string(data)); cr.GVK().Kind {
		case kustomization:
			a := Kustomizations{}.App(cr, policy.Policy{})
			problems, notes = a.Problems, a.Notes
		case gitRepository:
			s := GitRepositories{}.Source(cr)
			problems, notes = s.Problems, s.Notes
		default:
			return nil
		}
		read++
		if len(problems) > 0 || len(notes) > 0 {
			t.Errorf("%s: problems %q, notes %q", path, problems, notes)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read != 3 {
		t.Errorf("read %d custom resources of the demo, want 3", read)
	}
}

func TestTheProcessPolicyHoldsWhereTheAppSaysNothing(t *testing.T) {
	process := policy.Policy{Mode: policy.Observe, Claims: policy.ClaimsOff, Remediation: policy.ReportOnly, Spacing: time.Minute, Pause: policy.PauseCorrect, Additions: policy.AdditionsAllow}
	cr := object.Object{"spec": map[string]any{}}
	if diff := cmp.Diff(process, Kustomizations{}.App(cr, process).Policy); diff != "" {
		t.Errorf("without a word (-want +got):\n%s", diff)
	}
	cr["metadata"] = map[string]any{"annotations": map[string]any{reader.ModeKey: "enforce", reader.ClaimsKey: "cede", reader.PauseKey: "report", reader.AdditionsKey: "correct", remediateKey: "true"}}
	want := policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate, Pause: policy.PauseReport, Additions: policy.AdditionsCorrect}
	if diff := cmp.Diff(want, Kustomizations{}.App(cr, process).Policy); diff != "" {
		t.Errorf("the app over the process (-want +got):\n%s", diff)
	}
}

func TestMessagesAreCutWhereACharacterEnds(t *testing.T) {
	r := report.Report{Reason: report.RenderFailed, Stage: report.Render, Message: strings.Repeat("ä", longestMessage)}
	conditions := Kustomizations{}.Status(object.Object{}, r)["conditions"].([]any)
	got := conditions[0].(map[string]any)["message"].(string)
	if len(got) > longestMessage || !strings.HasSuffix(got, "ä...") {
		t.Errorf("message of %d bytes, ends in %q", len(got), got[len(got)-8:])
	}
}

func TestAFrontChangesNothingThatItIsGiven(t *testing.T) {
	cr := given.Object(t, `
metadata: {name: a, namespace: b, annotations: {truce.dev/ignore-differences: '[{jsonPatches: [{op: remove, path: /a}]}]'}}
spec: {interval: 1m, prune: true, ignoreDifferences: [{target: {kind: A}, jsonPatches: [{op: remove, path: /a, value: {b: [1]}}]}]}
status: {conditions: [{type: Ready, status: "True"}], inventory: {entries: [{id: a, v: v1}]}}`)
	before := cr.Clone()
	status := Kustomizations{}.Status(cr, report.Report{Reason: report.SpecRefused, Stage: report.Admit})
	GitRepositories{}.Source(cr)
	if entries, ok := object.Object(status).At("inventory", "entries").([]any); ok {
		entries[0] = "mine"
	}
	if diff := cmp.Diff(before, cr); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
