package cli

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const explainedLive = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: 0f5e
  managedFields:
  - {manager: truce, operation: Apply, apiVersion: apps/v1, time: "2026-11-21T08:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}}}}}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: apps/v1, time: "2026-11-21T08:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: kube-controller-manager, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec:
  replicas: 8
  paused: true
  revisionHistoryLimit: 10
  template: {spec: {containers: [{name: web, image: "registry.example/shop/web:2.14.1-with-a-rather-long-tag-as-builds-make-them"}]}}
`

const explainedGit = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template: {spec: {containers: [{name: web, image: "registry.example/shop/web:2.14.1-with-a-rather-long-tag-as-builds-make-them"}]}}
`

// explainedWeb is the Deployment of shopWeb with all that is known of it.
func explainedWeb(t *testing.T) explain.Subject {
	t.Helper()
	d, live := shopWeb(), given.Object(t, explainedLive)
	owners, err := explain.FieldOwners(live.At("metadata", "managedFields"))
	if err != nil {
		t.Fatal(err)
	}
	s := explain.Subject{
		ID: live.ID(), Version: "v1", Live: redact.Mask{}.ShowFields(live), Owners: owners, App: &d.App, Revision: d.Report.Revision, Git: redact.Mask{}.ShowFields(given.Object(t, explainedGit)),
		Found: d.Report.Objects[0], Stage: report.Done, Since: 24 * time.Hour, Now: epoch,
		Places: func(p field.Path) []desired.Place {
			base := desired.Place{File: "apps/web/base/web.yaml", Line: 7, Means: desired.ByManifest}
			if field.PathString(p) == ".spec.replicas" {
				return []desired.Place{base, {File: "apps/web/replicas.yaml", Line: 6, Means: desired.ByPatch, Exact: true}}
			}
			base.Exact = true
			return []desired.Place{base}
		},
		Commits: map[explain.Spot]explain.Commit{
			{File: "apps/web/replicas.yaml", Line: 6}: {Hash: "1a2b3c4d5e6f", Author: "Ann <ann@example.com>", Subject: "web: three replicas", Time: epoch.Add(-72 * time.Hour)},
			{File: "apps/web/base/web.yaml", Line: 7}: {Hash: "0f1e2d3c4b5a", Author: "Bob <bob@example.com>", Subject: "web", Time: epoch.Add(-2000 * time.Hour)},
		},
	}
	s.Journal = []journal.Entry{{
		At: epoch.Add(-time.Hour), App: d.App.Key, What: journal.Ceded, Object: s.ID, Path: ".spec.replicas", Git: int64(3), Live: int64(8),
		Writer: "HPA shop/web", Evidence: "recorded", Claimant: "HPA shop/web",
	}}
	s.Found.Findings = s.Found.Findings[:2]
	return s
}
