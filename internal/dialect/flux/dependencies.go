package flux

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/object"
)

// dependsOnKey is the annotation for dependencies on apps of either kind: the type of spec.dependsOn names none (ADR 25).
const dependsOnKey = reader.Ours + "depends-on"

// kindReference is an entry of that annotation.
type kindReference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	ReadyExpr string `json:"readyExpr,omitempty"`
}

// dependencies reads spec.dependsOn, which names others of the same kind, and the annotation. As in Flux, an entry without a namespace means its own.
func (r *reading) dependencies(cr object.Object, refs []meta.DependencyReference) []dependency.Dependency {
	var out []dependency.Dependency
	for i, ref := range refs {
		of := kindReference{Kind: cr.GVK().Kind, Namespace: ref.Namespace, Name: ref.Name, ReadyExpr: ref.ReadyExpr}
		out = append(out, r.dependency(cr, fmt.Sprintf("spec.dependsOn[%d]", i), of)...)
	}
	const at = "annotation " + dependsOnKey
	text, there := cr.Annotation(dependsOnKey)
	if !there {
		return out
	}
	list, ok := r.yaml(at, text).([]any)
	if !ok {
		r.Problem(at, "want a list of entries with kind, name, namespace and readyExpr, as YAML or JSON")
		return out
	}
	var in struct {
		List []kindReference `json:"truce.dev/depends-on"`
	}
	r.Decode("annotation ", map[string]any{dependsOnKey: list}, &in)
	for i, of := range in.List {
		out = append(out, r.dependency(cr, fmt.Sprintf("%s[%d]", at, i), of)...)
	}
	return out
}

// dependency reads one entry; nothing for one that cannot be meant.
func (r *reading) dependency(cr object.Object, at string, of kindReference) []dependency.Dependency {
	api := map[string]string{kustomization: kustomizeAPI, helmRelease: helmAPI}[of.Kind]
	switch {
	case api == "":
		r.Problem(at+".kind", "want Kustomization or HelmRelease, not %.100q", of.Kind)
		return nil
	case of.Name == "":
		r.Problem(at+".name", "required")
		return nil
	}
	group, _, _ := strings.Cut(api, "/")
	d := dependency.Dependency{On: object.ID{Group: group, Kind: of.Kind, Namespace: cmp.Or(of.Namespace, cr.Namespace()), Name: of.Name}}
	if of.ReadyExpr != "" {
		d.Ready = r.expression(at+".readyExpr", of.ReadyExpr, cel.Compile)
	}
	return []dependency.Dependency{d}
}

// dependencyName is what messages call a dependency: as Flux does, with its kind where that is another one.
func dependencyName(self object.Object, on object.ID) string {
	kind := ""
	if on.Kind != self.GVK().Kind {
		kind = on.Kind + "/"
	}
	return fmt.Sprintf("dependency '%s%s/%s'", kind, on.Namespace, on.Name)
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
	name := dependencyName(self, on.On)
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

// isReady reports whether the condition Ready is True and about the newest generation. Where the app was suspended, the condition may be about an older one than
// the status has observed: that was never applied.
func isReady(cr object.Object) bool {
	ready := conditionIn(cr, meta.ReadyCondition)
	observed, _ := cr.At("status", "observedGeneration").(int64)
	if of, is := ready.At("observedGeneration").(int64); is {
		observed = min(observed, of)
	}
	return observed == cr.Generation() && ready.StringAt("status") == "True"
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

// lastFailure is the message of the condition Ready of a run that has failed. That its objects are not healthy is no failure of a run.
func lastFailure(cr object.Object) string {
	c := conditionIn(cr, meta.ReadyCondition)
	if c.StringAt("status") != "False" || c.StringAt("reason") == meta.HealthCheckFailedReason {
		return ""
	}
	return c.StringAt("message")
}

// attemptedRevision is the revision of the newest run of a Kustomization, if that has failed, or has applied it whole: it has where the health of its objects
// is waited for, or is why it is not Ready. A run that waits for something else has not.
func attemptedRevision(cr object.Object) string {
	waits := conditionIn(cr, meta.HealthyCondition).StringAt("reason") == meta.ProgressingReason
	if conditionIn(cr, meta.ReadyCondition).StringAt("status") == "Unknown" && !waits {
		return ""
	}
	return cr.StringAt("status", "lastAttemptedRevision")
}

// conditionIn is a condition of a custom resource; nil for none.
func conditionIn(cr object.Object, kind string) object.Object {
	list, _ := cr.At("status", "conditions").([]any)
	for _, e := range list {
		if c, ok := e.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}
