package rules

import (
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// spot is a value in an object, and what its kind says may stand there.
type spot struct {
	path  field.Path
	kind  *schema.Type
	value any
	above []*schema.Type // those that the path leads through, from the top
}

// walkAll walks every object of a kind that is known.
func (j *checker) walkAll(visit func(discover.Unit, desired.Object, spot)) {
	for u, o := range j.objects() {
		if kind, ok := j.schemas.Of(o.GVK); ok {
			walkValues(spot{kind: kind, value: map[string]any(o.Data)}, func(at spot) { visit(u, o, at) })
		}
	}
}

// walked are the findings of the rules that look at every value, which is looked at once for all of them.
type walked struct{ twice, unknown, mistyped []Finding }

func (j *checker) walked() *walked {
	if j.walks == nil {
		j.walks = &walked{}
		j.walkAll(func(u discover.Unit, o desired.Object, at spot) {
			j.walks.twice = append(j.walks.twice, j.twinsAt(u, o, at)...)
			j.walks.unknown = append(j.walks.unknown, j.unknownAt(u, o, at)...)
			j.walks.mistyped = append(j.walks.mistyped, j.mistypedAt(u, o, at)...)
		})
	}
	return j.walks
}

// walkValues visits the value and all in it that the type knows, in the order of names. Items of a list are named by their keys; a second
// one of the same keys by its position.
func walkValues(at spot, visit func(spot)) {
	visit(at)
	switch v := at.value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if kind, ok := at.kind.Field(name); ok && kind.Form() != schema.Any {
				walkValues(at.down(*element(name), kind, v[name]), visit)
			}
		}
	case []any:
		if !at.isTypedList() {
			return
		}
		seen := map[string]bool{}
		for i, item := range v {
			e := itemElement(at.kind, item, i)
			if seen[e.String()] {
				e = field.Element{Index: &i}
			}
			seen[e.String()] = true
			walkValues(at.down(e, at.kind.Item(), item), visit)
		}
	}
}

// isTypedList reports whether the kind has a list there, and something is known of its items.
func (s spot) isTypedList() bool {
	form := s.kind.Form()
	return form != schema.Map && form != schema.Record && s.kind.Item().Form() != schema.Any
}

func (s spot) down(e field.Element, kind *schema.Type, v any) spot {
	return spot{path: append(slices.Clip(s.path), e), kind: kind, value: v, above: append(slices.Clip(s.above), s.kind)}
}

func element(name string) *field.Element { return &field.Element{FieldName: &name} }

// itemElement names an item of a list by its keys, where its kind has any and it bears one.
func itemElement(list *schema.Type, item any, position int) field.Element {
	if m, ok := item.(map[string]any); ok && list.Form() == schema.Keyed {
		if e := field.KeyElement(m, list.Keys()); e.Key != nil && len(*e.Key) > 0 {
			return e
		}
	}
	return field.Element{Index: &position}
}
