package argocd

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
)

// anyPart is what a part of an object's name is written as where any is meant.
const anyPart = "*"

// selected are the objects that an operation is about. Argo CD's API has names alone: where a request has * or exceptions, they are those of status.resources
// that it means, as with the argocd command (filterAppResources).
func (e *edit) selected(run dialect.Run) (out []object.ID) {
	if len(run.Except) == 0 && !slices.ContainsFunc(run.Resources, isPattern) {
		return run.Resources
	}
	var s applicationStatus
	reader.DecodeStatus(e.CR, &s)
	if s.says(objectsOmitted) {
		e.Refuse("--resource with * or ! is about the objects in status.resources, which lists only some of them here: name the objects that are meant")
		return nil
	}
	for _, o := range s.Resources {
		if !o.Hook && selects(run, o.id()) {
			out = append(out, o.id())
		}
	}
	if len(out) == 0 {
		e.Refuse("no object in status.resources matches --resource %s", strings.Join(patternTexts(run), ", "))
	}
	return out
}

func isPattern(id object.ID) bool {
	return slices.Contains([]string{id.Group, id.Kind, id.Namespace, id.Name}, anyPart)
}

// selects reports whether a request is about an object: one of its Resources, or any where it has none, and none of its exceptions.
func selects(run dialect.Run, id object.ID) bool {
	matches := func(pattern object.ID) bool { return matchesPattern(pattern, id) }
	return (len(run.Resources) == 0 || slices.ContainsFunc(run.Resources, matches)) && !slices.ContainsFunc(run.Except, matches)
}

func matchesPattern(pattern, id object.ID) bool {
	is := func(want, part string) bool { return want == anyPart || want == part }
	return is(pattern.Group, id.Group) && is(pattern.Kind, id.Kind) && is(pattern.Name, id.Name) &&
		(pattern.Namespace == "" || is(pattern.Namespace, id.Namespace))
}

// patternTexts are what a request means, as --resource is written.
func patternTexts(run dialect.Run) (out []string) {
	text := func(id object.ID) string {
		name := id.Name
		if id.Namespace != "" {
			name = id.Namespace + "/" + name
		}
		return id.Group + ":" + id.Kind + ":" + name
	}
	for _, id := range run.Resources {
		out = append(out, text(id))
	}
	for _, id := range run.Except {
		out = append(out, "!"+text(id))
	}
	return out
}
