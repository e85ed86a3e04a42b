// Gen writes internal/model/schema/kinds.txt: the kinds of Kubernetes' own, with their fields and the keys of their lists, from the schema that
// client-go carries for server-side apply. `go generate ./internal/model/schema` calls it in that directory.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
)

const head = "# Made by go generate ./internal/model/schema from k8s.io/client-go/applyconfigurations. Do not edit; the package's reader says what the forms mean.\n"

func main() {
	if err := writeFile("kinds.txt"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func writeFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	fmt.Fprint(out, head)
	g := generator{types: map[string]string{}}
	for _, line := range g.kinds() {
		fmt.Fprintln(out, line)
	}
	for _, name := range slices.Sorted(maps.Keys(g.types)) {
		fmt.Fprintf(out, "type %s\n%s", name, g.types[name])
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// generator collects the types that the kinds are made of.
type generator struct {
	schema *smd.Schema
	types  map[string]string // the lines of each, by its short name
}

// kinds returns the line of each kind, and collects its types.
func (g *generator) kinds() []string {
	var out []string
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(gvk)
		typed, err := converter.ObjectToTyped(o)
		if err != nil || typed.TypeRef().NamedType == nil {
			continue // a kind that is never applied: reviews, lists
		}
		g.schema = typed.Schema()
		if atom, ok := g.schema.Resolve(typed.TypeRef()); !ok || atom.Map == nil || !isObject(atom.Map) {
			continue // options
		}
		out = append(out, fmt.Sprintf("kind %s %s %s", gvk.GroupVersion(), gvk.Kind, strings.TrimPrefix(g.reference(typed.TypeRef()), "!")))
	}
	slices.Sort(out)
	return out
}

func isObject(m *smd.Map) bool {
	_, ok := m.FindField("metadata")
	return ok
}

var scalars = map[smd.Scalar]string{smd.Numeric: "number", smd.String: "string", smd.Boolean: "boolean", smd.Untyped: "any"}

// reference writes a type as it stands behind a field, and collects it.
func (g *generator) reference(r smd.TypeRef) string {
	if r.NamedType == nil {
		return g.atom(r.Inlined)
	}
	if *r.NamedType == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
		return "quantity"
	}
	atom, ok := g.schema.Resolve(r)
	if !ok || atom.Map == nil || atom.Scalar != nil || atom.List != nil || len(atom.Fields) == 0 {
		return g.atom(atom)
	}
	name := shortName(*r.NamedType)
	if _, seen := g.types[name]; !seen {
		g.types[name] = ""
		g.types[name] = g.fields(atom.Map)
	}
	return hasWhole(atom.Map) + name
}

// hasWhole is the mark of a map that has one owner.
func hasWhole(m *smd.Map) string {
	if m.ElementRelationship == smd.Atomic {
		return "!"
	}
	return ""
}

func (g *generator) fields(m *smd.Map) string {
	var b strings.Builder
	for _, f := range m.Fields {
		fmt.Fprintf(&b, " %s %s\n", f.Name, g.reference(f.Type))
	}
	return b.String()
}

func (g *generator) atom(a smd.Atom) string {
	switch {
	case a.Map != nil && a.List != nil:
		return "any"
	case a.List != nil && a.List.ElementRelationship == smd.Associative:
		return "[" + cmp.Or(strings.Join(a.Keys, ","), "=") + "]" + g.reference(a.List.ElementType)
	case a.List != nil:
		return "[]" + g.reference(a.List.ElementType)
	case a.Map != nil:
		return hasWhole(a.Map) + "{}" + g.reference(a.Map.ElementType)
	case a.Scalar != nil:
		return scalars[*a.Scalar]
	}
	return "any"
}

func shortName(name string) string {
	for _, prefix := range []string{"io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}
