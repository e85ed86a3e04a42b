package desired

import (
	"cmp"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
)

// Hook is an object that is made at moments, and not kept in sync. It bears no mark of an app. Its ID has no name where it has generateName
// alone.
type Hook struct {
	Object
	At optout.Timing
}

// putAside notes an object that is made at moments, unless it never is.
func (s *Set) putAside(r render.Object, a app.App, at optout.Timing, scope Scope) {
	data := inNamespace(r, a, scope)
	if len(at.Moments) == 0 {
		if at.Skipped {
			s.Skipped = append(s.Skipped, Object{ID: data.ID(), GVK: data.GVK()})
		}
		return
	}
	h := Hook{Object{ID: data.ID(), GVK: data.GVK(), Data: data, File: r.File, Line: r.Line, Wave: WaveOfKind(data.GVK())}, at}
	h.Sensitive.Fields = r.Sensitive
	h.setDigest()
	s.Hooks = append(s.Hooks, h)
	slices.SortStableFunc(s.Hooks, func(a, b Hook) int {
		return cmp.Or(cmp.Compare(a.At.Weight, b.At.Weight), cmp.Compare(a.Wave, b.Wave), a.ID.Compare(b.ID))
	})
}

// know has values hidden in what is reported about an object that holds some of them.
func (o *Object) know(known *redact.Known) {
	if !o.Sensitive.IsZero() {
		o.Sensitive.Known = known
	}
}
