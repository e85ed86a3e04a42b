package cli

import (
	"context"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view"
)

// answers implements Clusters by the answers that a test has set.
type answers struct{ cluster Cluster }

func (a answers) Connect(context.Context, cluster.Target) (*Cluster, error) {
	a.cluster.Closer = a
	return &a.cluster, nil
}

func (answers) Close() {}

// someApps is a cluster's list of apps.
type someApps struct {
	AppReader
	keys []app.Key
}

func (s someApps) Names(_ context.Context, ns string) ([]app.Key, error) {
	var out []app.Key
	for _, k := range s.keys {
		if ns == "" || k.Namespace == ns {
			out = append(out, k)
		}
	}
	return out, nil
}

// Follow shows the apps once, each with the label env=pr-42.
func (s someApps) Follow(ctx context.Context, of app.Key, seen func([]view.Summary) bool) error {
	known, err := s.Names(ctx, of.Namespace)
	if err != nil {
		return err
	}
	var all []view.Summary
	for _, k := range known {
		all = append(all, view.Summary{Key: k, Labels: map[string]string{"env": "pr-42"}})
	}
	seen(all)
	return nil
}

// Inspect finds the differences of print_test.go in any app.
func (someApps) Inspect(_ context.Context, k app.Key) (view.Detail, error) {
	d := shopWeb()
	if k.Kind == grokdevops.Kind {
		d = shopApplication()
	}
	d.App.Key, d.Report.App = k, k
	return d, nil
}

// AppState has a history of one revision.
func (someApps) AppState(context.Context, app.Key) (dialect.Summary, error) {
	return dialect.Summary{History: []dialect.HistoryEntry{{ID: 7, Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567", At: epoch}}}, nil
}

// oneRepository implements Repositories by what was found in one.
type oneRepository struct{ found discover.Discovery }

func (o oneRepository) Discover(_ context.Context, _ discover.Request, use func(discover.Discovery) error) error {
	return use(o.found)
}
