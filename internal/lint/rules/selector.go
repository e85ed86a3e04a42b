package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func selectorWithoutLabels() rule {
	return rule{Rule: Rule{
		ID: "selector-without-labels", Severity: Error,
		Title: "a selector that selects nothing",
		Reason: "A workload whose selector does not match the labels of its own pods is refused by the server. A Service, PodDisruptionBudget or " +
			"NetworkPolicy whose selector matches no pods is taken, and does nothing: no traffic, no protection, no rule.",
		Remedy: "Make the selector and the labels of the pod template the same.",
		Source: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector",
	}, check: selectorFindings}
}

func selectorFindings(j *checker) []Finding {
	pods := j.pods()
	var out []Finding
	for d := range j.described() {
		for _, s := range selectors(*d.object) {
			f, ok := checkOwnSelector(d, s)
			if !s.own {
				f, ok = pods.judge(j, d, s)
			}
			if ok {
				f.Unit, f.Object, f.Path = d.unit.Name(), d.object.ID, s.path
				f.Place = j.files.place(*d.unit, *d.object, s.path)
				out = append(out, f)
			}
		}
	}
	return out
}

// selectors are the selectors of an object that select pods by something.
func selectors(o desired.Object) []selector {
	switch o.GVK.Group + "/" + o.GVK.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "argoproj.io/Rollout":
		return labelSelector(o, selector{path: field.NewPath("spec", "selector"), own: true})
	case "/ReplicationController":
		return plainSelector(o, selector{path: field.NewPath("spec", "selector"), own: true})
	case "/Service":
		return plainSelector(o, selector{path: field.NewPath("spec", "selector")})
	case "policy/PodDisruptionBudget":
		return labelSelector(o, selector{path: field.NewPath("spec", "selector")})
	case "networking.k8s.io/NetworkPolicy":
		return labelSelector(o, selector{path: field.NewPath("spec", "podSelector")})
	}
	return nil
}

// checkOwnSelector judges a workload's selector of its own pods.
func checkOwnSelector(d described, s selector) (Finding, bool) {
	if d.object.Data.At("spec", "template") == nil {
		return Finding{}, false // a Rollout whose template stands elsewhere
	}
	has := textValues(d.object.Data.At("spec", "template", "metadata", "labels"))
	if s.matches(has) {
		return Finding{}, false
	}
	return Finding{
		Message: fmt.Sprintf("%s %s: the selector %s does not match the labels of its template (%s)", d.object.ID.Kind, d.object.ID.Name, s, has),
		Remedy:  "give the template the labels that the selector asks for; the selector of a workload that exists cannot be changed",
	}, true
}

// pod is what a workload makes.
type pod struct {
	described
	labels labels
}

// pods are those of each namespace.
type pods map[string][]pod

// templates are where kinds keep the metadata of their pods.
var templates = [][]string{{"spec", "template", "metadata"}, {"spec", "jobTemplate", "spec", "template", "metadata"}}

func (j *checker) pods() pods {
	out := pods{}
	for d := range j.described() {
		for _, at := range templates {
			if meta, ok := d.object.Data.At(at...).(map[string]any); ok {
				ns := d.id().Namespace
				out[ns] = append(out[ns], pod{d, textValues(meta["labels"])})
			}
		}
		if d.object.GVK == (object.GVK{Version: "v1", Kind: "Pod"}) {
			out[d.id().Namespace] = append(out[d.id().Namespace], pod{d, textValues(d.object.Data.At("metadata", "labels"))})
		}
		if !desired.IsBuiltInGroup(d.object.GVK.Group) {
			out[d.id().Namespace] = append(out[d.id().Namespace], pod{described: d}) // its controller may make pods of any labels
		}
	}
	return out
}

// judge looks for pods of the selector in its namespace. Where something that is not in Git may make them, only near matches are reported.
func (p pods) judge(j *checker, d described, s selector) (Finding, bool) {
	seen := slices.DeleteFunc(slices.Clone(p[d.id().Namespace]), func(c pod) bool { return j.reach().meet(d.unit, c.unit) == "" })
	if slices.ContainsFunc(seen, func(c pod) bool { return c.labels != nil && s.matches(c.labels) }) {
		return Finding{}, false
	}
	if j.hasUnseenBeside(d.object.File) {
		return Finding{}, false
	}
	title := d.object.ID.Kind + " " + d.object.ID.Name
	if near := nearest(s, seen); near != nil {
		return Finding{
			Severity: Warning,
			Message:  fmt.Sprintf("%s: the selector %s matches no pods; those of %s %s have %s", title, s, near.object.ID.Kind, near.object.ID.Name, near.labels),
			Others:   []desired.Place{j.files.whole(*near.object)},
			Remedy:   "make the selector and the labels the same",
		}, true
	}
	if len(seen) == 0 || slices.ContainsFunc(seen, func(c pod) bool { return c.labels == nil }) {
		return Finding{}, false
	}
	return Finding{
		Severity: Info,
		Message:  fmt.Sprintf("%s: the selector %s matches no pods of the namespace that are in this repository", title, s),
		Remedy:   "leave it out, unless its pods come from elsewhere",
	}, true
}

// hasUnseenBeside reports whether a file in the same directory was not looked into: it may describe the pods.
func (j *checker) hasUnseenBeside(file string) bool {
	return slices.ContainsFunc(j.discovery.Skipped, func(k discover.Skipped) bool {
		return !k.NoObject && path.Dir(k.File) == path.Dir(file) && k.File != file
	})
}

// nearest are the pods that may be meant, nil for none: more of the wanted labels are theirs than are not, or all are spelled alike.
func nearest(s selector, all []pod) *pod {
	var found *pod
	most := 0
	for i := range all {
		same, alike := agreeing(s.wants, all[i].labels)
		other := len(s.wants) - same - alike
		if n := 2*same + alike; n > most && (other == 0 || same > other) {
			found, most = &all[i], n
		}
	}
	return found
}

// agreeing counts the labels that are as wanted, and those whose values are nearly so.
func agreeing(wants map[string]string, has labels) (same, alike int) {
	for k, v := range wants {
		got, there := has[k]
		switch {
		case !there:
		case got == v:
			same++
		case strings.HasPrefix(got, v), strings.HasPrefix(v, got), len(ignore.NearWords(v, []string{got})) > 0:
			alike++
		}
	}
	return same, alike
}
