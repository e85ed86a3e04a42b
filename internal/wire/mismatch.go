package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/ignore"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
)

// mismatch says why a rule matches nothing, and what would; "" for a rule that matches. lives are the live objects in the order of
// all, nil where there is none.
func mismatch(r ignore.Rule, all, lives []object.Object) string {
	about := false
	var lost []string
	for i, o := range all {
		if !r.Target.Matches(o) {
			continue
		}
		about = true
		missing := absent(r, o, lives[i])
		if missing == "" {
			return ""
		}
		lost = append(lost, missing)
	}
	if !about {
		return "it is about none of the app's objects; " + nearest(r.Target, all)
	}
	return lost[0]
}

// absent says which field a rule names that neither Git's object nor the live one has.
func absent(r ignore.Rule, wanted, there object.Object) string {
	owners, err := ownership.Entries(there)
	if err != nil {
		owners = nil
	}
	if len(r.Queries)+len(r.Managers) > 0 {
		return ""
	}
	why := ""
	for _, p := range r.Pointers {
		if has(p, wanted, owners) || there != nil && has(p, there, owners) {
			return ""
		}
		why = fmt.Sprintf("%s has no field %s; %s", name(wanted), p, siblings(p, wanted, there))
	}
	return why
}

func has(p field.Pointer, o object.Object, owners []ownership.Entry) bool {
	path, ok := ownership.Resolve(p, o, owners)
	if !ok {
		return false
	}
	_, ok = field.Get(o, path)
	return ok
}

func name(o object.Object) string {
	if o.Namespace() == "" {
		return o.GVK().Kind + " " + o.Name()
	}
	return o.GVK().Kind + " " + o.Namespace() + "/" + o.Name()
}

const shownFields = 12

// siblings lists what there is where the pointer leaves the object.
func siblings(p field.Pointer, wanted, there object.Object) string {
	for n := len(p) - 1; n >= 0; n-- {
		names := map[string]bool{}
		for _, o := range []object.Object{wanted, there} {
			for k := range under(o, p[:n]) {
				names[k] = true
			}
		}
		if len(names) == 0 {
			continue
		}
		list := slices.Sorted(maps.Keys(names))
		if len(list) > shownFields {
			list = append(list[:shownFields], "…")
		}
		return fmt.Sprintf("under %s there are %s", field.Pointer(p[:n]).String(), strings.Join(list, ", "))
	}
	return "it has no fields"
}

// under are the names in a map or the positions of a list.
func under(o object.Object, p field.Pointer) map[string]bool {
	path, ok := ownership.Resolve(p, o, nil)
	if !ok {
		return nil
	}
	v, _ := field.Get(o, path)
	out := map[string]bool{}
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			out[k] = true
		}
	case object.Object:
		for k := range v {
			out[k] = true
		}
	case []any:
		for i := range v {
			out[fmt.Sprint(i)] = true
		}
	}
	return out
}

// nearest names the objects that would be meant if one part of the target were another one, else the kinds that there are.
func nearest(t ignore.Target, all []object.Object) string {
	for _, part := range []struct {
		name  string
		loose func(ignore.Target) ignore.Target
		is    func(object.Object) string
	}{
		{"group", func(t ignore.Target) ignore.Target { t.Group = nil; return t }, func(o object.Object) string { return o.GVK().Group }},
		{"namespace", func(t ignore.Target) ignore.Target { t.Namespace = nil; return t }, object.Object.Namespace},
		{"name", func(t ignore.Target) ignore.Target { t.Name = nil; return t }, object.Object.Name},
		{"kind", func(t ignore.Target) ignore.Target { t.Kind = nil; return t }, func(o object.Object) string { return o.GVK().Kind }},
	} {
		loose := part.loose(t)
		for _, o := range all {
			if loose.Matches(o) {
				return fmt.Sprintf("with %s %q it would be about %s", part.name, part.is(o), name(o))
			}
		}
	}
	kinds := map[string]bool{}
	for _, o := range all {
		kinds[strings.TrimPrefix(o.GVK().Group+"/"+o.GVK().Kind, "/")] = true
	}
	if len(kinds) == 0 {
		return "the app describes no object at all"
	}
	return "the app describes " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}
