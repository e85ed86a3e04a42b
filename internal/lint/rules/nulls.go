package rules

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func nullValue() rule {
	return rule{Rule: Rule{
		ID: "null-value", Severity: Warning, Fixable: true,
		Title: "a manifest names a field and gives it no value",
		Reason: "A null does not leave a field to others: a server-side apply owns the field with it. A value that another writer sets is a conflict, and is " +
			"removed by force; replicas: null puts the count back to 1 with each forced apply. In a map of texts, such as labels, it becomes an empty " +
			"text, which truce sends as well; other nulls it leaves out, where Flux and Argo CD send them. Only nulls that are in the rendered object are found: kustomize " +
			"leaves out many.",
		Remedy: "Leave the field out; write \"\" where an empty text is meant. In a patch a null is right: it takes the field out.",
		Source: "measured on kube-apiserver 1.37: nodeSelector: null takes away what another manager has set; labels: {a: null} is kept as a: \"\"; " +
			"a null in place of a whole map such as labels does no harm",
	}, check: (*checker).nullValue}
}

func (j *checker) nullValue() []Finding {
	var out []Finding
	for _, m := range j.manifests() {
		if m.patch || !desired.IsBuiltInGroup(m.gvk().Group) || m.gvk().Group == "resource.k8s.io" {
			continue
		}
		j.read(m, func(at written) {
			n := render.FollowAlias(at.node)
			if at.key == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null" || isHarmless(at) || !m.sends(at.path) {
				return
			}
			f := m.finding(at.path, at.key)
			f.Severity, f.Message, f.Remedy = nullOutcome(at)
			f.Message = m.title() + ": " + f.Message
			if isQuiet(at) {
				f.Severity, f.FormOnly = Info, Form
			}
			out = append(out, f)
		})
	}
	return out
}

// isHarmless reports whether a null says nothing there: in place of a map of which each field has its own owner, where only the server writes,
// and in creationTimestamp, which generators of manifests leave.
func isHarmless(at written) bool {
	merged := !at.kind.Atomic() && (at.kind.Form() == schema.Map || at.kind.Form() == schema.Record)
	return merged || ofServer(at.path) || at.key.Value == "creationTimestamp"
}

// isQuiet reports whether the null matters only where another manager sets the field, which is rare: of a list or a single value. The count of a
// workload has such a manager; in a map of texts the null becomes a text.
func isQuiet(at written) bool {
	if at.path.Equals(replicasPath) || at.in.Form() == schema.Map {
		return false
	}
	return !slices.Contains([]schema.Form{schema.Map, schema.Record}, at.kind.Form())
}

var replicasPath = field.NewPath("spec", "replicas")

// nullOutcome says what becomes of a null.
func nullOutcome(at written) (s Severity, message, remedy string) {
	name := field.PathString(at.path)
	switch {
	case at.path.Equals(replicasPath):
		return Error, name + " is null: each forced apply puts the count to 1", "leave out replicas"
	case at.in.Form() == schema.Map && at.kind.Form() == schema.Scalar:
		return Warning, name + " is null: a server-side apply keeps it as an empty text", fmt.Sprintf(`leave out %s, or write ""`, at.key.Value)
	}
	return Warning, name + " is null: a server-side apply owns it so, and takes away by force what another sets there", "leave out " + at.key.Value
}
