package reconcile

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// dryRuns answers each apply with the object as it is, and keeps what was sent.
type dryRuns struct {
	apply.Writer
	live, sent object.Object
}

func (d *dryRuns) Apply(_ context.Context, a apply.Apply) (object.Object, error) {
	d.sent = a.Body
	return d.live, nil
}

// database is a StatefulSet with a spec. The claims for its volumes are one atomic field, which truce owns.
func database(t *testing.T, spec string) object.Object {
	t.Helper()
	var out object.Object
	err := json.Unmarshal([]byte(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop", "uid": "1", "managedFields": [
		{"manager": "truce", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
		"fieldsV1": {"f:spec": {"f:serviceName": {}, "f:volumeClaimTemplates": {}, "f:podManagementPolicy": {}}}}]}, "spec": `+spec+`}`), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func volumeOf(size string) string {
	return `"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "` + size + `"}}}}]`
}

// TestADryRunHasWhatIsCededInAnAtomicField: the API server refuses a volume without a size, and a StatefulSet with other volumes than before.
func TestADryRunHasWhatIsCededInAnAtomicField(t *testing.T) {
	const size = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage"
	git := database(t, `{"serviceName": "db", "podManagementPolicy": "Parallel", `+volumeOf("1Gi")+`}`)
	before := database(t, `{"serviceName": "db", `+volumeOf("3Gi")+`}`)
	live := database(t, `{"serviceName": "other", "podManagementPolicy": "OrderedReady", `+volumeOf("2Gi")+`}`)
	delete(git.Metadata(), "managedFields")
	delete(before.Metadata(), "managedFields")
	owners, err := ownership.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	in := decide.Input{Desired: git, Live: live, Owners: owners, Policy: policy.Policy{Mode: policy.Enforce}}
	for _, text := range []string{size, "/spec/serviceName"} {
		p, err := field.ParsePointer(text)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := ownership.Resolve(p, git, owners)
		in.Ignored = append(in.Ignored, ignore.Covered{Path: at, Rule: "rule"})
	}
	now := `{"podManagementPolicy": "Parallel", ` + volumeOf("2Gi") + `}`
	taken := compare.NewBaseline(live, owners, ownership.NewHasher())
	for name, c := range map[string]struct {
		snap snapshot
		mode policy.Mode
		want string
	}{
		"in a new process":         {snapshot{}, policy.Enforce, now},
		"of an app that observes":  {snapshot{}, policy.Observe, now},
		"when the CRD has changed": {snapshot{observation: observation{baseline: taken.WithDoubt()}}, policy.Enforce, now},
		"about what was sent":      {snapshot{observation: observation{baseline: taken.WithDoubt()}, previous: before}, policy.Enforce, `{` + volumeOf("2Gi") + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := &dryRuns{live: live}
			w := objectReconcile{
				engine: NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil), managed: newManagedObject(live.ID(), app.Key{}, fight.Memory{}),
				access: tenancy.Access{Writer: d}, live: live, owners: owners, snap: c.snap, app: app.App{Policy: policy.Policy{Mode: c.mode}},
			}
			w.snap.desired, w.snap.gvk = git, git.GVK()
			if _, err := w.baseline(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			want := database(t, c.want)
			if diff := cmp.Diff(want["spec"], d.sent["spec"]); diff != "" {
				t.Errorf("(-want +sent):\n%s", diff)
			}
		})
	}
}
