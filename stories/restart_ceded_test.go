package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
)

const databaseYAML = `-- db.yaml --
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// TestANewProcessComparesWhatIsCededInAnAtomicField: a rule covers a part of volumeClaimTemplates, which is one field to the API server. A process
// that begins has no baseline of the object, and takes one from a dry run, in which that part must not be missing.
func TestANewProcessComparesWhatIsCededInAnAtomicField(t *testing.T) {
	storage, err := ignore.ParsePointer("/spec/volumeClaimTemplates/0/spec/resources/requests/storage")
	if err != nil {
		t.Fatal(err)
	}
	for name, rule := range map[string]ignore.Rule{
		"by jq":      {Queries: []string{".spec.volumeClaimTemplates[].spec.resources.requests.storage"}},
		"by pointer": {Pointers: []field.Pointer{storage}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStreet(t, databaseYAML)
			rule.Name, rule.Target = "spec.ignoreDifferences[0]", ignore.Target{Kind: ignore.ExactPattern("StatefulSet")}
			s.app.Ignore = ignore.Rules{rule}
			s.sync()
			for _, mode := range []policy.Mode{policy.Enforce, policy.Observe} {
				s.engine = reconcile.NewEngine(s.engine.Dependencies, nil)
				s.app.Policy.Mode = mode
				for _, o := range s.sync().Objects {
					if o.Problem != "" || o.Sync() != report.Synced || !o.Judged {
						t.Errorf("%s in a new process, mode %s: %s, %s", o.ID, mode, o.Sync(), o.Problem)
					}
				}
			}
		})
	}
}
