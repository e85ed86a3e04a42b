package policy

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Adoption is the passage of an app's objects between another controller and truce. Its zero value is none.
type Adoption struct {
	Mode AdoptionMode
	// At is when the adoption was asked for; zero where the custom resource does not say. An entry of the other's that is younger was made
	// after it.
	At time.Time
	// Lost says why truce does not write to an adopted app any more: the other controller writes again. Empty for an app that is not lost;
	// Mode is empty where it is set.
	Lost string
	// Manager is the field manager that the other applies as: what is handed back becomes its.
	Manager string
	// Labels are those by which the other marks what it keeps, and Annotation another such mark, which begins with one of Prefixes where
	// it is this app's. What bears one of them in another form is kept for another app.
	Labels     map[string]string
	Annotation string
	Prefixes   []string
	// Release are annotations by which Helm marks the objects of a release. What bears one of them in another form is another release's.
	Release map[string]string
	// Hints are labels that show whose an object is only where they say this: others use them, too.
	Hints map[string]string
	// Settings is the namespace of the settings that name another label for this (application.instanceLabelKey of Argo CD's ConfigMap argocd-cm), and
	// Instance its value on the app's objects; empty where there are no such settings.
	Settings, Instance string
	// Keep are fields of the other's that stay in the cluster although Git does not name them.
	Keep []field.Path
	// Inventory is what the other has put there, as it has written it down, by ID with the API version.
	Inventory map[object.ID]string
}

// AdoptionMode says what happens to the objects of an app that another controller keeps, or has kept.
type AdoptionMode string

// The values of AdoptionMode, as the annotation truce.dev/adopted spells them where it does.
const (
	TakeBeside AdoptionMode = "beside"  // they become ours, while the other stands still on its own switch, which is not ours then
	TakeAlone  AdoptionMode = "alone"   // they become ours; the other does not run
	HandBack   AdoptionMode = "release" // they become the other's, and are only observed from then on
)

// Takes reports whether objects become ours.
func (a Adoption) Takes() bool { return a.Mode == TakeBeside || a.Mode == TakeAlone }

// ID distinguishes one adoption of an app from a later one; empty for none.
func (a Adoption) ID() string {
	switch {
	case !a.Takes():
		return ""
	case a.At.IsZero():
		return string(a.Mode)
	}
	return string(a.Mode) + " " + a.At.UTC().Format(time.RFC3339)
}

// WithTrackingLabel is the adoption from a controller that marks what it keeps for the app by another label, too. It stays on the objects.
func (a Adoption) WithTrackingLabel(key string) Adoption {
	if _, known := a.Hints[key]; known {
		return a
	}
	hints := map[string]string{key: a.Instance}
	maps.Copy(hints, a.Hints)
	a.Hints = hints
	a.Keep = append(slices.Clone(a.Keep), field.NewPath("metadata", "labels", key))
	return a
}

// OwnerOf returns by the other tool's marks whose a live object is: this app's (mine), another one's, as the mark says it, or neither.
func (a Adoption) OwnerOf(live object.Object) (mine bool, another string) {
	if text, there := live.Annotation(a.Annotation); there && a.Annotation != "" {
		if slices.ContainsFunc(a.Prefixes, func(p string) bool { return strings.HasPrefix(text, p) }) {
			return true, ""
		}
		return false, a.Annotation + ": " + text
	}
	labelled, other := hasAllMarks(a.Labels, live.Label)
	if other != "" {
		return false, other
	}
	released, other := hasAllMarks(a.Release, live.Annotation)
	if other != "" {
		return false, other
	}
	for key, want := range a.Hints {
		if have, there := live.Label(key); there && have == want {
			return true, ""
		}
	}
	return labelled || released, ""
}

// hasAllMarks reports whether an object has all of some marks, and which one it has in another form.
func hasAllMarks(all map[string]string, of func(string) (string, bool)) (has bool, other string) {
	matched := 0
	for key, want := range all {
		switch have, there := of(key); {
		case there && have != want:
			return false, key + ": " + have
		case there:
			matched++
		}
	}
	return matched > 0 && matched == len(all), ""
}
