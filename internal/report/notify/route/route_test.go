package route_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

func message() notify.Message {
	return notify.Message{
		Event:  notify.Event{Severity: notify.Info, Reason: "DriftCorrected", Text: "Deployment shop/web .spec.replicas: put back", Revision: "main@sha1:abc"},
		About:  object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "shop", Name: "web"},
		Labels: map[string]string{"team": "shop"}, Annotations: map[string]string{"event.toolkit.fluxcd.io/summary": "of the object", "event.toolkit.fluxcd.io/cluster": "mine", "event.toolkit.fluxcd.io/team": "shop", "other": "x"},
	}
}

func TestAnAlertTakesWhatItNames(t *testing.T) {
	web := route.Source{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	all := route.Source{Kind: "Kustomization", Namespace: "shop", Name: "*"}
	for name, c := range map[string]struct {
		alert route.Alert
		want  bool
	}{
		"by name":               {route.Alert{Sources: []route.Source{web}}, true},
		"all":                   {route.Alert{Sources: []route.Source{all}}, true},
		"no source":             {route.Alert{}, false},
		"another kind":          {route.Alert{Sources: []route.Source{{Kind: "HelmRelease", Namespace: "shop", Name: "*"}}}, false},
		"another namespace":     {route.Alert{Sources: []route.Source{{Kind: "Kustomization", Namespace: "infra", Name: "*"}}}, false},
		"another name":          {route.Alert{Sources: []route.Source{{Kind: "Kustomization", Namespace: "shop", Name: "api"}}}, false},
		"by label":              {route.Alert{Sources: []route.Source{{Kind: "Kustomization", Namespace: "shop", Name: "*", Labels: map[string]string{"team": "shop"}}}}, true},
		"by another label":      {route.Alert{Sources: []route.Source{{Kind: "Kustomization", Namespace: "shop", Name: "*", Labels: map[string]string{"team": "shop", "env": ""}}}}, false},
		"errors only":           {route.Alert{Sources: []route.Source{all}, ErrorsOnly: true}, false},
		"suspended":             {route.Alert{Sources: []route.Source{all}, Suspended: true}, false},
		"refused":               {route.Alert{Sources: []route.Source{all}, Problems: []app.Problem{{Reason: "x"}}}, false},
		"included":              {route.Alert{Sources: []route.Source{all}, Include: []*regexp.Regexp{regexp.MustCompile("none"), regexp.MustCompile("put back")}}, true},
		"not included":          {route.Alert{Sources: []route.Source{all}, Include: []*regexp.Regexp{regexp.MustCompile("none")}}, false},
		"excluded":              {route.Alert{Sources: []route.Source{all}, Exclude: []*regexp.Regexp{regexp.MustCompile("replicas")}}, false},
		"included and excluded": {route.Alert{Sources: []route.Source{all}, Include: []*regexp.Regexp{regexp.MustCompile(".")}, Exclude: []*regexp.Regexp{regexp.MustCompile("replicas")}}, false},
	} {
		if got := c.alert.Takes(message()); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWhoHearsTheCauseDoesNotHearWhatFollows: a source that cannot be fetched is one message, not one more for each app of it.
func TestWhoHearsTheCauseDoesNotHearWhatFollows(t *testing.T) {
	apps, sources := route.Source{Kind: "Kustomization", Namespace: "shop", Name: "*"}, route.Source{Kind: "GitRepository", Namespace: "flux-system", Name: "fleet"}
	m := message()
	m.Cause = object.ID{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository", Namespace: "flux-system", Name: "fleet"}
	if !(route.Alert{Sources: []route.Source{apps}}).Takes(m) {
		t.Error("who listens to apps alone does not hear of it")
	}
	if (route.Alert{Sources: []route.Source{apps, sources}}).Takes(m) {
		t.Error("who listens to the source hears of it twice")
	}
}

// TestMetadataOfAnObjectOverrulesNone: as in Flux the event goes first, then the Alert, then the annotations of the object.
func TestMetadataOfAnObjectOverrulesNone(t *testing.T) {
	a := route.Alert{Metadata: map[string]string{"revision": "mine", "cluster": "prod"}, Summary: "of the alert"}
	m := message()
	m.AppVersion, m.Digest = "6.6.1", "sha256:abc"
	n := a.Address(m)
	want := map[string]string{"revision": "main@sha1:abc", "app-version": "6.6.1", "oci-digest": "sha256:abc", "summary": "of the alert", "cluster": "prod", "team": "shop"}
	if diff := cmp.Diff(want, n.Metadata); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n.Message.Labels != nil || n.Message.Annotations != nil {
		t.Error("labels and annotations go out")
	}
}
