package argocd

import (
	"cmp"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

const (
	trackingID    = theirs + "tracking-id"
	instanceLabel = "app.kubernetes.io/instance" // the tracking label, where no other is configured; charts have it, too
)

// adoption reads how the Application's objects pass between Argo CD and truce. With truce.dev/adopted: beside, the annotation
// argocd.argoproj.io/skip-reconcile is Argo CD's. What Argo CD tracks its objects by stays on them: after a release it is needed.
func (r *reading) adoption(cr object.Object, a *app.App) {
	home, _ := cr.At("status", "controllerNamespace").(string)
	instance := cr.Name()
	if home = cmp.Or(home, cr.Namespace()); home != cr.Namespace() {
		instance = cr.Namespace() + "_" + cr.Name()
	}
	how, passage := r.Adopted(cr, policy.Adoption{
		Manager: "argocd-controller", Annotation: trackingID, Prefixes: []string{cr.Name() + ":", cr.Namespace() + "_" + cr.Name() + ":"},
		Hints: map[string]string{instanceLabel: instance}, Settings: home, Instance: instance, Inventory: resourceVersions(cr),
		Keep: []field.Path{field.NewPath("metadata", "annotations", trackingID), field.NewPath("metadata", "annotations", theirs+"installation-id"), field.NewPath("metadata", "labels", instanceLabel)},
	})
	problem, note := dialect.ApplyAdoption(a, how, passage)
	if problem != "" {
		r.Problem("annotation "+reader.AdoptedKey, "%s, not %q", problem, how)
	}
	if note != "" {
		r.Note("%s", note)
	}
}

// resourceVersions is status.resources but for the hooks, by ID with the API version.
func resourceVersions(cr object.Object) map[object.ID]string {
	all, _ := cr.At("status", "resources").([]any)
	out := map[object.ID]string{}
	for _, v := range all {
		m, _ := v.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		if m["hook"] != true && text("kind") != "" && text("name") != "" && text("version") != "" {
			out[object.ID{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}] = text("version")
		}
	}
	return out
}

// adoptionLost is the condition of an adopted Application that Argo CD has again.
const adoptionLost = "AdoptionLostWarning"

// Observed returns the conditions of an Application whose status is Argo CD's: as they are, but for the one that says that Argo CD has an adopted one
// again, and without those of truce's, which Argo CD would leave there, once truce has given the app back or lost it. It is false where nothing is to
// be written.
func (Applications) Observed(cr object.Object, a app.App, now time.Time) ([]any, bool) {
	switch {
	case a.Adoption.Lost != "":
		lost := map[string]any{"type": adoptionLost, "message": a.Adoption.Lost, "lastTransitionTime": formatTime(now)}
		return reader.WithCondition(cr, adoptionLost, lost, ownTypes...)
	case a.Adoption.Mode == policy.HandBack:
		return reader.WithCondition(cr, adoptionLost, nil, ownTypes...)
	}
	return reader.WithCondition(cr, adoptionLost, nil)
}
