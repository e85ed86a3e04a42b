package decide_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestTheSeedIsOurs: truce creates the object with the least count that its autoscaler allows, and hands it over. The autoscaler, whose status
// records an earlier write of the same number, has not written it since; of a value that was there before truce, nothing is known.
func TestTheSeedIsOurs(t *testing.T) {
	git := given.Object(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  paused: true`)
	for created, want := range map[string]string{"2026-01-02T03:04:05Z": "truce", "2026-01-01T00:00:00Z": "an unknown writer"} {
		live := given.Object(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  creationTimestamp: "`+created+`"
  managedFields:
  - {apiVersion: apps/v1, manager: truce, operation: Apply, time: "2026-01-02T03:04:05Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {apiVersion: apps/v1, manager: truce-handover, operation: Apply, time: "2026-01-02T03:04:06Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec: {replicas: 2, paused: true}`)
		in := decide.Input{
			Desired: git, Live: live, Owners: ownersOf(t, live), Hasher: ownership.NewHasher(), Now: now,
			Policy: policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate},
		}
		in.Claims = claimsOn(t, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 10}
status: {desiredReplicas: 2, lastScaleTime: "2026-01-02T03:00:00Z"}`, claim.Subject{Desired: git, Live: live, Owners: in.Owners})
		compared, err := compare.CompareObject(compare.Input{
			Desired: git, Live: live, Owners: in.Owners, Hasher: in.Hasher, Baseline: compare.NewBaseline(live, in.Owners, in.Hasher), Withheld: in.CededPaths(),
		})
		if err != nil {
			t.Fatal(err)
		}
		in.Compared = compared
		p := decide.JudgeObject(in)
		if len(p.Findings) != 1 || p.Findings[0].Writer.String() != want {
			t.Errorf("created at %s: %+v, want it written by %s", created, p.Findings, want)
		}
	}
}
