package joined_test

import (
	"context"
	"testing"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/joined"
)

// each answers a request by its path.
type each map[string]render.Result

func (e each) Render(_ context.Context, r render.Request) (render.Result, error) {
	return e[r.Path], nil
}

// TestPartsAreRenderedTogether: the whole was built if all its parts were, and may be another one the next time if one of them may.
func TestPartsAreRenderedTogether(t *testing.T) {
	parts := each{"built": {Rendered: true}, "cached": {}, "momentary": {Rendered: true, Momentary: true}, "inflated": {Rendered: true, Inflated: true}}
	for name, c := range map[string]struct {
		paths []string
		want  render.Result
	}{
		"all built":         {[]string{"built", "built"}, render.Result{Rendered: true}},
		"the first cached":  {[]string{"cached", "built"}, render.Result{}},
		"the last cached":   {[]string{"built", "cached"}, render.Result{}},
		"one is momentary":  {[]string{"momentary", "built"}, render.Result{Rendered: true, Momentary: true}},
		"one has charts":    {[]string{"cached", "inflated"}, render.Result{Inflated: true}},
		"a part by itself":  {[]string{"built"}, render.Result{Rendered: true}},
		"all from a cache":  {[]string{"cached", "cached"}, render.Result{}},
		"cached, momentary": {[]string{"cached", "momentary"}, render.Result{Momentary: true}},
	} {
		var whole render.Request
		for _, p := range c.paths {
			whole.Parts = append(whole.Parts, render.Request{Path: p})
		}
		got, err := joined.Renderer{Each: parts}.Render(t.Context(), whole)
		if err != nil || got.Rendered != c.want.Rendered || got.Momentary != c.want.Momentary || got.Inflated != c.want.Inflated {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
