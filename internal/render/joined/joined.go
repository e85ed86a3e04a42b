// Package joined answers: which objects do several sources describe together?
//
// In: a request with parts, one of each source.
// Out: the objects of all in the order of the parts, with the names of their files in the tree of all.
// Promise: the whole fails with any of its parts; a request without parts is passed on as it is. The whole was
// rendered only if every part was, not taken from a cache: a prune needs that.
// Not here: which of two objects with one name counts (desired), how a part is rendered (the other packages of render).
package joined

import (
	"context"
	"strings"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Renderer renders the parts of a request one after the other, as one result.
type Renderer struct{ Each render.Renderer }

// Render implements render.Renderer.
func (j Renderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	if r.Parts == nil {
		return j.Each.Render(ctx, r)
	}
	out := render.Result{Rendered: true}
	for _, p := range r.Parts {
		one, err := j.Each.Render(ctx, p)
		if err != nil {
			return render.Result{}, err
		}
		for _, o := range one.Objects {
			o.File = nameInPart(p, o.File)
			out.Objects = append(out.Objects, o)
		}
		for _, read := range one.Reads {
			read.Path = nameInPart(p, read.Path)
			out.Reads = append(out.Reads, read)
		}
		out.Rendered = out.Rendered && one.Rendered
		out.Momentary, out.Inflated = out.Momentary || one.Momentary, out.Inflated || one.Inflated
		out.Secrets = append(out.Secrets, one.Secrets...)
		out.Inputs += one.Inputs
	}
	return out, nil
}

// nameInPart returns a file of a part by its name in the tree of all. What is of a remote base keeps its name.
func nameInPart(part render.Request, file string) string {
	if part.Prefix == "" || file == "" || strings.HasPrefix(file, upstream.Directory+"/") {
		return file
	}
	return part.Prefix + "/" + file
}

// Cache knows what is answered from memory of a request with parts.
type Cache struct{ Each *render.Cached }

// Holds reports whether a render of the request, or of all its parts, would be answered from memory.
func (c Cache) Holds(r render.Request) bool {
	if r.Parts == nil {
		return c.Each.Holds(r)
	}
	for _, p := range r.Parts {
		if !c.Each.Holds(p) {
			return false
		}
	}
	return true
}

var _ render.Renderer = Renderer{}
