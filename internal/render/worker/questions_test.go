package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/lookup"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// askCluster asks once, or until it is refused, and gives the newest answer.
func askCluster(ctx context.Context, r render.Request) (render.Result, error) {
	most := 1
	if r.Path == "lookups" {
		most = mostLookups + 1
	}
	var found map[string]any
	for i := range most {
		var err error
		if found, err = r.Lookup.Lookup(ctx, lookup.Question{APIVersion: "v1", Kind: "Secret", Namespace: "n", Name: fmt.Sprint("s", i)}); err != nil {
			return render.Result{}, fmt.Errorf("lookup: %w", err)
		}
	}
	return render.Result{Objects: []render.Object{{Data: object.Object(found)}}, Secrets: []string{"x"}, Momentary: true}, nil
}

// largeAnswers answers each question with so many bytes, after so long, or by an error.
type largeAnswers struct {
	bytes int
	err   error
	hangs bool
	asked *[]string
}

// Lookup implements lookup.Reader.
func (a largeAnswers) Lookup(ctx context.Context, q lookup.Question) (map[string]any, error) {
	*a.asked = append(*a.asked, q.String())
	if a.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return map[string]any{"kind": "Secret", "n": int64(7), "x": strings.Repeat("x", a.bytes)}, a.err
}

func TestTemplatesAskTheClusterThroughThePipe(t *testing.T) {
	const unknown = -1
	p := newPool(t, 1)
	gone := errors.New("it is out of reach")
	for name, c := range map[string]struct {
		path   string
		from   largeAnswers
		limits render.Limits
		want   string // of the error; empty for none
		cause  error
		asked  int
	}{
		"an answer":          {path: "lookup", from: largeAnswers{bytes: 1 << 20}, asked: 1},
		"an error":           {path: "lookup", from: largeAnswers{err: gone}, want: "lookup: it is out of reach", cause: gone, asked: 1},
		"too many questions": {path: "lookups", want: "lookup: the chart asks for more than 200 objects or lists, ask for a list instead: limit exceeded", cause: render.ErrLimit, asked: 200},
		"too large":          {path: "lookups", from: largeAnswers{bytes: 12 << 20}, want: "lookup: the chart asks for more than 32 MiB, ask for single objects or for one namespace: limit exceeded", cause: render.ErrLimit, asked: 3},
		"too slow":           {path: "lookup", from: largeAnswers{hangs: true}, limits: render.Limits{Time: 50 * time.Millisecond}, want: "render lookup: took longer than 50ms: limit exceeded", cause: render.ErrLimit, asked: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			c.from.asked = &asked
			if c.limits.Time == 0 {
				c.limits.Time = 10 * time.Minute // none of it is about time, however busy the machine is
			}
			res, err := p.Render(t.Context(), render.Request{Files: given.Files(), Path: c.path, Lookup: c.from, Limits: c.limits})
			if c.asked != unknown && (len(asked) != c.asked || asked[0] != "v1 Secret n/s0") {
				t.Errorf("asked for %q", asked)
			}
			if c.want != "" {
				if err == nil || err.Error() != c.want || !errors.Is(err, c.cause) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			if err != nil || !res.Momentary || res.Objects[0].Data["n"] != int64(7) || len(res.Objects[0].Data["x"].(string)) != 1<<20 {
				t.Errorf("%v, momentary %v", err, res.Momentary)
			}
		})
	}
}
