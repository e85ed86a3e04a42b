package flux

import (
	"cmp"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/object"
)

// dependencies reads spec.dependsOn: others of its own kind. As in Flux, an entry without a namespace means its own.
func (r *reading) dependencies(cr object.Object, refs []meta.DependencyReference) []dependency.Dependency {
	self := cr.GVK()
	var out []dependency.Dependency
	for i, ref := range refs {
		at := fmt.Sprintf("spec.dependsOn[%d]", i)
		if ref.Name == "" {
			r.Problem(at+".name", "required")
			continue
		}
		d := dependency.Dependency{On: object.ID{Group: self.Group, Kind: self.Kind, Namespace: cmp.Or(ref.Namespace, cr.Namespace()), Name: ref.Name}}
		if ref.ReadyExpr != "" {
			d.Ready = r.expression(at+".readyExpr", ref.ReadyExpr, cel.Compile)
		}
		out = append(out, d)
	}
	return out
}

// expression reads one in the Common Expression Language.
func (r *reading) expression(field, text string, read func(string) (cel.Expression, error)) cel.Expression {
	e, err := read(text)
	if err != nil {
		if !r.HasProblem(field) {
			r.badExpressions++
		}
		r.Problem(field, "%v", err)
	}
	return e
}

// Unready says why a dependency keeps a Kustomization from running at a revision of its source; empty where it does not. Both are custom
// resources as the API server holds them; dep is nil for one that is not there. The rule and the words are Flux's: the newest generation of the dependency is Ready; where both read the
// same source, it has applied the same revision. An expression replaces the rule (Flux's feature gate AdditiveCELDependencyCheck is off).
func (Kustomizations) Unready(on dependency.Dependency, self, dep object.Object, revision string) string {
	name := fmt.Sprintf("dependency '%s/%s'", on.On.Namespace, on.On.Name)
	switch {
	case dep == nil:
		return name + " not found"
	case !on.Ready.IsZero():
		return unreadyByExpression(name, on, self, dep)
	case !isReady(dep):
		return name + " is not ready"
	case sourceOf(self) == sourceOf(dep) && dep.At("status", "lastAppliedRevision") != revision:
		return name + " revision is not up to date"
	}
	return ""
}

func unreadyByExpression(name string, on dependency.Dependency, self, dep object.Object) string {
	is, err := on.Ready.IsTrue(map[string]any{cel.Self: map[string]any(self), cel.Dep: map[string]any(dep)})
	switch {
	case err != nil:
		return fmt.Sprintf("%s: readyExpr cannot be evaluated: %v", name, err)
	case !is:
		return name + " is not ready according to readyExpr eval"
	}
	return ""
}

// isReady reports whether the condition Ready is True and about the newest generation.
func isReady(cr object.Object) bool {
	observed, _ := cr.At("status", "observedGeneration").(int64)
	if observed != cr.Generation() {
		return false
	}
	list, _ := cr.At("status", "conditions").([]any)
	for _, e := range list {
		if c, ok := e.(map[string]any); ok && c["type"] == meta.ReadyCondition {
			return c["status"] == "True"
		}
	}
	return false
}

// sourceOf is what a Kustomization reads, and the commit that a rollback holds it at.
func sourceOf(cr object.Object) [4]string {
	text := func(keys ...string) string { s, _ := cr.At(keys...).(string); return s }
	pin, _ := cr.Annotation(revisionKey)
	return [4]string{
		text("spec", "sourceRef", "kind"), cmp.Or(text("spec", "sourceRef", "namespace"), cr.Namespace()), text("spec", "sourceRef", "name"), pin,
	}
}

// completedRevision is the revision that was applied whole under the present spec.
func completedRevision(cr object.Object) string {
	if observed, _ := cr.At("status", "observedGeneration").(int64); observed != cr.Generation() {
		return ""
	}
	revision, _ := cr.At("status", "lastAppliedRevision").(string)
	return revision
}
