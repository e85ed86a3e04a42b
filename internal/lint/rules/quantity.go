package rules

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render"
)

func uncanonicalQuantity() rule {
	return rule{Rule: Rule{
		ID: "uncanonical-quantity", Severity: Info, Fixable: true,
		Title: "a quantity in another form than the server keeps",
		Reason: "The server writes 0.5 of a CPU as 500m and 1024Mi as 1Gi. Truce compares what the server makes of Git, and kubectl diff too. It matters " +
			"where a second manager names the same field: a server-side apply compares texts, so that equal amounts in two forms are a conflict; " +
			"and for tools that compare Git with the cluster as texts. If no other app describes the object, truce audit reports it with --form only. " +
			"Whole numbers without quotes (cpu: 1) are another form too, and are not reported.",
		Remedy: "Write the quantity as the server does.",
		Source: "measured on kube-apiserver 1.37: one manager applies 0.5, another 500m, and the next apply of the first is a conflict",
	}, check: (*checker).uncanonicalQuantity}
}

func (j *checker) uncanonicalQuantity() []Finding {
	var out []Finding
	for _, m := range j.manifests() {
		j.read(m, func(at written) {
			text, kept := quantity(at)
			if text == kept {
				return
			}
			f := m.finding(at.path, render.FollowAlias(at.node))
			if !j.isShared(m) {
				f.FormOnly = Form
			}
			f.Message = fmt.Sprintf("%s: %s is %s to the server", m.title(), quoteVisible(text), kept)
			f.Remedy = "write " + quantityInYAML(kept)
			out = append(out, f)
		})
	}
	return out
}

// isShared reports whether several units that meet describe an object of the manifest: its fields have two managers.
func (j *checker) isShared(m manifest) bool {
	return slices.ContainsFunc(m.by, func(d described) bool {
		return slices.ContainsFunc(j.byName()[lookupName(d.id())], func(o described) bool { return o.unit != d.unit && j.reach().meet(d.unit, o.unit) == together })
	})
}

// quantity returns the text of a quantity and how the server writes it; the same text twice for all else.
func quantity(at written) (text, kept string) {
	n := render.FollowAlias(at.node)
	if at.kind.Form() != schema.Quantity || n.Kind != yaml.ScalarNode {
		return "", ""
	}
	q, err := resource.ParseQuantity(strings.TrimSpace(n.Value))
	if err != nil {
		return "", "" // a variable, or what the server will refuse
	}
	return n.Value, q.String()
}

// quantityInYAML is a quantity as it must stand in YAML to be a text.
func quantityInYAML(kept string) string {
	if strings.Trim(kept, "0123456789") == "" {
		return `"` + kept + `"`
	}
	return kept
}

// quoteVisible is a text as it stands in a message: in quotes where it would not be seen where it ends.
func quoteVisible(text string) string {
	if text == "" || strings.ContainsAny(text, " \t") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
