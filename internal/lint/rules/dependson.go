package rules

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
)

func dependsOnMissing() rule {
	return rule{Rule{
		ID: "depends-on-missing", Severity: Warning,
		Title: "a Kustomization or HelmRelease depends on one that is not there",
		Reason: "Neither Flux nor truce applies a Kustomization or HelmRelease before all that dependsOn names are ready: nothing of it is applied, new commits neither. " +
			"Flux looks again every 30 s and corrects no drift meanwhile; truce waits for an event, and corrects the drift of what was applied before. " +
			"dependsOn names others of the same kind, the annotation truce.dev/depends-on those of either. Without a namespace their own is meant.",
		Remedy: "Correct kind, name and namespace of the entry, or remove it.",
		Source: "kustomize-controller, helm-controller (DependencyNotReady; requeue-dependency 30s); spec.dependsOn; docs/adr/0025",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, e := range j.dependencies() {
			if len(e.to) > 0 || j.isLeftOut(e.key) || j.isDormant(e.from) {
				continue
			}
			f := j.ruleFinding(e.from, e.at, fmt.Sprintf("%s depends on %s, and no %s of its cluster is called so in this repository%s", e.from.Name(), e.key, e.key.Kind, j.nearly(e)), "correct the entry, or remove it")
			out = append(out, f)
		}
		return out
	}}
}

func dependsOnCycle() rule {
	return rule{Rule{
		ID: "depends-on-cycle", Severity: Error,
		Title: "Kustomizations or HelmReleases depend on each other in a circle",
		Reason: "Each waits until the one before is ready at its present generation. On a new cluster none of them ever begins; on one where " +
			"they were ready once, the first edit of any of them stops all. Flux reports on each that the one before is not ready; truce names the " +
			"circle on each member.",
		Remedy: "Remove one of the entries: the one whose objects can be applied without the other's. What both need belongs into a third.",
		Source: "kustomize-controller, helm-controller (DependencyNotReady); spec.dependsOn; docs/adr/0025",
	}, func(j *checker) []Finding {
		by := map[*discover.Unit][]dependency{}
		for _, e := range j.dependencies() {
			by[e.from] = append(by[e.from], e)
		}
		var out []Finding
		for _, circle := range j.circles(by) {
			e := circle[0]
			names := []string{}
			f := j.ruleFinding(e.from, e.at, "", "remove one of the entries")
			for i, step := range circle {
				names = append(names, step.from.Name())
				if i > 0 {
					f.between(step.from.Name(), step.from.Resource.ID())
					f.Others = append(f.Others, j.files.said(step.from, step.at))
				}
			}
			f.Message = strings.Join(append(names, e.from.Name()), " → ") + ": each waits for the next, and none of them ever begins"
			out = append(out, f)
		}
		return out
	}}
}

// dependency is an entry of dependsOn, or of the annotation, of a Kustomization or HelmRelease.
type dependency struct {
	from *discover.Unit
	at   string // spec.dependsOn[0]
	key  app.Key
	to   []*discover.Unit // those that are called so, and meet it
}

// dependencies are all, in the order of the survey.
func (j *checker) dependencies() []dependency {
	byKey := map[app.Key][]*discover.Unit{}
	for u := range j.fluxApps() {
		byKey[u.App.Key] = append(byKey[u.App.Key], u)
	}
	var out []dependency
	for u := range j.fluxApps() {
		for _, e := range dependenciesOf(u) {
			e.to = slices.DeleteFunc(slices.Clone(byKey[e.key]), func(to *discover.Unit) bool { return j.reach().meet(u, to) == "" })
			out = append(out, e)
		}
	}
	return out
}

// dependsOnKey is truce's annotation for dependencies of either kind.
const dependsOnKey = "truce.dev/depends-on"

// dependenciesOf are the entries of a custom resource. An annotation that cannot be read is reported as refused by truce.
func dependenciesOf(u *discover.Unit) []dependency {
	var out []dependency
	add := func(at, kind, namespace, name string) {
		key := app.Key{Kind: cmp.Or(kind, u.App.Key.Kind), Namespace: cmp.Or(namespace, u.App.Key.Namespace), Name: name}
		out = append(out, dependency{from: u, at: at, key: key})
	}
	for n, ref := range listItems(u.Resource.At("spec", "dependsOn")) {
		add(fmt.Sprintf("spec.dependsOn[%d]", n), "", stringAt(ref, "namespace"), stringAt(ref, "name"))
	}
	text, _ := u.Resource.Annotation(dependsOnKey)
	var all []struct{ Kind, Namespace, Name string }
	if yaml.Unmarshal([]byte(text), &all) != nil {
		return out
	}
	for n, ref := range all {
		if ref.Kind != "" && ref.Name != "" {
			add(fmt.Sprintf("annotation %s[%d]", dependsOnKey, n), ref.Kind, ref.Namespace, ref.Name)
		}
	}
	return out
}

// isLeftOut reports whether an app is in the repository and was not looked into, such as one that is read from elsewhere.
func (j *checker) isLeftOut(key app.Key) bool {
	return slices.ContainsFunc(j.discovery.Skipped, func(k discover.Skipped) bool { return k.What == key.String() })
}

// isDormant reports whether nothing applies a Kustomization or HelmRelease, as far as the repository shows: Kustomizations are described by apps, and it
// is not, nor does it describe any itself.
func (j *checker) isDormant(u *discover.Unit) bool {
	if j.applied == nil {
		j.applied = map[string]bool{}
		for o := range j.fluxApps() {
			if o.App.Release != nil {
				continue
			}
			for _, by := range o.By {
				j.applied[by], j.applied[o.Name()] = true, true
			}
		}
	}
	return u.Dialect == discover.Flux && len(j.applied) > 0 && len(u.By) == 0 && !j.applied[u.Name()]
}

// fluxApps yields Kustomizations and HelmReleases.
func (j *checker) fluxApps() iter.Seq[*discover.Unit] {
	return func(yield func(*discover.Unit) bool) {
		for i := range j.discovery.Units {
			if u := &j.discovery.Units[i]; u.Dialect == discover.Flux && !yield(u) {
				return
			}
		}
	}
}

// nearly is the question whether another one is meant.
func (j *checker) nearly(e dependency) string {
	var names []string
	for u := range j.fluxApps() {
		if u.App.Key.Kind != e.key.Kind || j.reach().meet(e.from, u) == "" {
			continue
		}
		if u.App.Key.Name == e.key.Name {
			return "; there is " + u.Name()
		}
		if u.App.Key.Namespace == e.key.Namespace && u != e.from {
			names = append(names, u.App.Key.Name)
		}
	}
	if near := ignore.NearWords(e.key.Name, names); len(near) > 0 {
		return ": did you mean " + near[0] + "?"
	}
	return ""
}
