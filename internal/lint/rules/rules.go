// Package rules answers: which conflicts does a repository hold, before anybody is paged for them?
//
// In: a Survey: apps and what they describe.
// Out: Findings, each with the place in Git, the reason and the remedy; Rules, from which their documentation is made.
// Promise: pure; each finding can be pointed at; the same Survey gives the same Findings in the same order; no Secret's value is in one.
// Not here: finding apps (discover), what a live cluster adds (autoscaled), forms for other programs (output), edits (fix).
package rules

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render/desired"
	chartvalues "github.com/truce-gitops/truce/internal/render/values"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Severity is how much harm a finding does. The zero value is unknown.
type Severity string

// The severities, from the gravest on.
const (
	Error   Severity = "error"   // it will be fought over, fail, or take something down
	Warning Severity = "warning" // it does harm under circumstances that are likely
	Info    Severity = "info"    // it is worth knowing
)

// Rule is one thing that can be wrong, and all that a person needs to know of it.
type Rule struct {
	ID       string // stable, in lower case with dashes: replicas-autoscaled
	Severity Severity
	Title    string // one sentence without an end: what is wrong
	Reason   string // why that hurts, with what really happens
	Remedy   string // what to do
	Source   string // where the rule comes from: a KEP, a field of Flux or Argo CD, a measurement
	Fixable  bool   // truce fix has a cure
}

// Finding is one thing that is wrong at one place.
type Finding struct {
	Rule     string
	Severity Severity
	// Unit is the name of the app or root that it was found in; empty for what is wrong between several.
	Unit string
	// Object and Path say which field of which object; both may be zero.
	Object object.ID
	Path   field.Path
	// Place is where in Git; Others are further places that have a part in it.
	Place   desired.Place
	Others  []desired.Place
	Message string // what is wrong here, with names and values
	Remedy  string // what to do here
	// Repeats are the other units in which the same is wrong in the same words at the same place, as of a base that is in many overlays; and those that
	// have a part in what is wrong between several.
	Repeats []Repeat
	// FormOnly is why the finding is left out unless it is asked for; empty for one that is not.
	FormOnly FormOnly
}

// Repeat is another unit that has a finding, and the object as that unit names it.
type Repeat struct {
	Unit   string
	Object object.ID
}

// FormOnly is why a finding about the form of a value does no harm by itself. The zero value is that it does.
type FormOnly string

// The reasons.
const (
	Generated FormOnly = "generated" // a program has made the file
	Form      FormOnly = "form"      // the server takes one form for the other
)

// rule is a Rule with what looks for it.
type rule struct {
	Rule
	check func(*checker) []Finding
}

// checker is what the rules look at. What several of them need is made once.
type checker struct {
	discovery discover.Discovery
	base      *discover.Discovery // an earlier revision; nil for none
	files     files
	catalogue *claim.Catalogue
	schemas   *schema.Kinds              // those that the repository's CRDs define too
	documents []manifest                 // see manifests
	names     map[lookupKey][]described  // see byName
	reaches   *reach                     // see reach
	scales    *scaling                   // see scaling
	ranges    map[string][]described     // see limitRanges
	counted   map[namingOrigin][]Finding // see contested
	walks     *walked                    // see walked
	applied   map[string]bool            // Kustomizations that others describe, or that describe others: see isDormant
}

// objects yields what each unit describes.
func (j *checker) objects() iter.Seq2[discover.Unit, desired.Object] {
	return func(yield func(discover.Unit, desired.Object) bool) {
		for _, u := range j.discovery.Units {
			for _, o := range u.Objects {
				if !yield(u, o) {
					return
				}
			}
		}
	}
}

// schemasOf knows the kinds of Kubernetes' own and those that the repository's CRDs define.
func schemasOf(s discover.Discovery) *schema.Kinds {
	kinds := schema.Builtin()
	for _, u := range s.Units {
		for _, o := range u.Objects {
			if o.GVK.Group == "apiextensions.k8s.io" && o.GVK.Kind == "CustomResourceDefinition" {
				kinds.Define(o.Data)
			}
		}
	}
	return kinds
}

// AllRules lists all rules by ID.
func AllRules() []Rule {
	var out []Rule
	for _, r := range implementations() {
		out = append(out, r.Rule)
	}
	slices.SortFunc(out, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// implementations lists what is looked for. Each rule has a file of its own, and a story in testdata that it finds and one that it does not;
// docs/rules is made of both (go generate ./internal/cli).
func implementations() []rule {
	return []rule{
		aggregatedRoleRules(),
		atomicSelector(),
		autoscaledTwice(),
		autoscalerRemoved(),
		caBundlePlaceholder(),
		dependsOnCycle(),
		dependsOnMissing(),
		duplicateKey(),
		nullValue(),
		hpaBounds(),
		hpaGitOutside(),
		hpaNoRequests(),
		hpaTargetMissing(),
		immutableChanged(),
		invalidData(),
		ignoreManagersReset(),
		ignoreMatchesNothing(),
		ignoreNotRespected(),
		objectNamedTwice(),
		pruneDisabled(),
		refusedByTruce(),
		replicasAutoscaled(),
		replicasPutBack(),
		secretPlainData(),
		secretStringData(),
		selectorWithoutLabels(),
		uncanonicalQuantity(),
		unknownField(),
		unreadableManifest(),
		wrongType(),
	}
}

// CheckAll looks for everything that is wrong, in the order of places.
func CheckAll(s discover.Discovery) []Finding { return newChecker(s).findings() }

// CheckAgainst looks for the same, and for what cannot be changed and is changed since the base.
func CheckAgainst(base, s discover.Discovery) []Finding {
	j := newChecker(s)
	j.base = &base
	return j.findings()
}

func newChecker(s discover.Discovery) *checker {
	s.Units = slices.Clone(s.Units) // what was discovered may be checked again, also as the base of another
	shareSettings(s)
	return &checker{discovery: s, files: files{survey: s}, catalogue: claim.Builtin(), schemas: schemasOf(s)}
}

func (j *checker) findings() []Finding {
	var out []Finding
	secrets := j.secrets()
	for _, r := range implementations() {
		for _, f := range r.check(j) {
			f.Message = secrets.Text(f.Message + keyText(f))
			f.Rule, f.Severity = r.ID, cmp.Or(f.Severity, r.Severity)
			if slices.Contains(formRules, r.ID) && f.Place.File != "" && j.files.isGenerated(f.Place.File) {
				f.FormOnly = Generated
			}
			if from, remote := upstream.AddressOf(f.Place.File); remote && f.Remedy != "" {
				f.Remedy += "; the file is one of " + from.String() + ", so do it there, or by a patch here"
			}
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, inOrder)
	return withoutRepeats(out)
}

// secrets are the variables' values that stand in Secrets of the repository.
func (j *checker) secrets() redact.Sensitive {
	units := j.discovery.Units
	if j.base != nil {
		units = slices.Concat(units, j.base.Units)
	}
	var values []string
	for _, u := range units {
		values = append(values, u.Values.SecretValues()...)
		if u.Chart != nil {
			values = append(values, chartvalues.SecretTexts(u.Chart.Values)...)
		}
	}
	return redact.Sensitive{Known: redact.KnownOrNil(values)}
}

// withoutRepeats leaves out what another unit has said before in the same words of the same place, and notes the unit there: a base is in many overlays.
func withoutRepeats(all []Finding) []Finding {
	type said struct{ rule, place, message string }
	first := map[said]int{}
	var out []Finding
	for _, f := range all {
		s := said{f.Rule, fmt.Sprint(f.Place, f.Place.Column), f.Message}
		i, before := first[s]
		if !before {
			first[s] = len(out)
			out = append(out, f)
			continue
		}
		out[i].Repeats = slices.Concat(out[i].Repeats, []Repeat{{f.Unit, f.Object}}, f.Repeats)
	}
	return out
}

// between notes a further unit that has a part in the finding, once.
func (f *Finding) between(unit string, id object.ID) {
	if unit != f.Unit && !slices.ContainsFunc(f.Repeats, func(r Repeat) bool { return r.Unit == unit }) {
		f.Repeats = append(f.Repeats, Repeat{unit, id})
	}
}

func inOrder(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line), cmp.Compare(a.Place.Column, b.Place.Column),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Message, b.Message))
}
