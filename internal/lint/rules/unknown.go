package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func unknownField() rule {
	return rule{Rule: Rule{
		ID: "unknown-field", Severity: Error,
		Title: "a field that its kind does not have",
		Reason: "A server-side apply (Flux, truce, Argo CD with ServerSideApply) of an object with a field that its kind does not know is refused as " +
			"a whole: nothing of the object is applied, and all that waits for it does not come. An apply of the older form drops the field " +
			"without a word, so that what it should do is not done.",
		Remedy: "Spell the field as the kind has it, or leave it out.",
		Source: "measured on kube-apiserver 1.37: HTTP 500, failed to create typed patch object: field not declared in schema, of custom resources too; " +
			"the fields of Kubernetes' own kinds are those of 1.37 (k8s.io/client-go/applyconfigurations), of others those of CRDs in the repository",
	}, check: (*checker).unknownField}
}

func (j *checker) unknownField() []Finding {
	return j.walked().unknown
}

func (j *checker) unknownAt(u discover.Unit, o desired.Object, at spot) []Finding {
	var out []Finding
	for _, name := range unknown(at) {
		p := append(slices.Clip(at.path), *element(name))
		out = append(out, Finding{
			Unit: u.Name(), Object: o.ID, Path: p, Place: j.files.place(u, o, p),
			Message: fmt.Sprintf("%s %s: %s has no field %s%s", o.ID.Kind, o.ID.Name, inWords(o, at.path), name, meantField(at, name)),
			Remedy:  remedyOf(at, name),
		})
	}
	return out
}

// sopsField is where SOPS keeps how an object is encrypted. Who decrypts the object takes it out.
const sopsField = "sops"

// unknown lists the names in a record that its kind does not have.
func unknown(at spot) []string {
	m, ok := at.value.(map[string]any)
	if !ok || at.kind.Form() != schema.Record {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool {
		_, known := at.kind.Field(name)
		return known || len(at.path) == 0 && name == sopsField || strings.HasPrefix(name, "$") // a directive of a patch that was left over is said by the server
	})
}

// inWords is what a person calls the record: its path, or the kind for the object itself.
func inWords(o desired.Object, p field.Path) string {
	if len(p) == 0 {
		return o.GVK.Kind
	}
	return field.PathString(p)
}

// meantField is a question behind the message: what is spelled nearly so, or where else around it the field belongs.
func meantField(at spot, name string) string {
	if near := ignore.NearWords(name, at.kind.Fields()); len(near) > 0 {
		return fmt.Sprintf(": did you mean %s?", near[0])
	}
	if p := elsewhere(at, name); p != "" {
		return fmt.Sprintf(": it is a field of %s", p)
	}
	return ""
}

func remedyOf(at spot, name string) string {
	if near := ignore.NearWords(name, at.kind.Fields()); len(near) > 0 {
		return fmt.Sprintf("write %s, or leave %s out", near[0], name)
	}
	if p := elsewhere(at, name); p != "" {
		return fmt.Sprintf("move %s to %s", name, p)
	}
	return "leave it out"
}

// elsewhere finds the field in what is around the record, the nearest first, or right in it: a wrong indentation.
func elsewhere(at spot, name string) string {
	for i := len(at.above) - 1; i >= 0; i-- {
		if hasField(at.above[i], name) {
			return field.PathString(at.path[:i])
		}
	}
	for _, sub := range at.kind.Fields() {
		below, _ := at.kind.Field(sub)
		p := field.PathString(append(slices.Clip(at.path), *element(sub)))
		switch {
		case hasField(below, name):
			return p
		case below.Form() == schema.Keyed && hasField(below.Item(), name):
			return p + "[*]"
		}
	}
	return ""
}

func hasField(t *schema.Type, name string) bool {
	return t.Form() == schema.Record && slices.Contains(t.Fields(), name)
}
