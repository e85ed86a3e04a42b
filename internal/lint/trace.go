package lint

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
)

// discoverTraced finds the apps, and the values keys of what is wrong in their charts.
func discoverTraced(ctx context.Context, files source.Tree, o discover.Options) (discover.Discovery, error) {
	s, err := discover.FindApps(ctx, files, o)
	if err != nil {
		return s, err
	}
	return s, traceCharts(ctx, s, files, o)
}

// traceCharts finds the values keys of the charts in which something is wrong, which costs a render for each key that may be the one.
func traceCharts(ctx context.Context, s discover.Discovery, files source.Tree, o discover.Options) error {
	wrong := map[string]bool{}
	if hasChart(s) {
		for _, f := range rules.CheckAll(s) {
			wrong[f.Unit] = wrong[f.Unit] || len(f.Path) > 0
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Workers))
	for i := range s.Units {
		if u := &s.Units[i]; u.HasChart() && u.Err == nil && wrong[u.Name()] {
			group.Go(func() error {
				traceChart(ctx, u, files, o.Render)
				return ctx.Err()
			})
		}
	}
	return group.Wait()
}

func hasChart(s discover.Discovery) bool {
	return slices.ContainsFunc(s.Units, discover.Unit.HasChart)
}

// traceChart leaves a unit without origins where its charts do not render again: their templates are known.
func traceChart(ctx context.Context, u *discover.Unit, files source.Tree, r render.Renderer) {
	whole, err := u.Request(files)
	if err != nil {
		return
	}
	for _, request := range slices.Concat(whole.Parts, []render.Request{whole}) {
		if request.Chart == nil {
			continue
		}
		chart := *request.Chart
		chart.Trace, request.Chart = true, &chart
		if result, err := r.Render(ctx, request); err == nil && result.Release != nil {
			u.Origins = append(u.Origins, result.Release.Origins...)
		}
	}
}
