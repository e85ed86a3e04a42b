package autoscaled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// InCluster lists the autoscaled workloads under Git, of all namespaces for "". Each kind is listed once, in pages: those that may claim something, Applications with
// what they have in common, and the kinds that an autoscaler names. What the user may not list is left out, and a note says so; that there is nothing else is an error.
func InCluster(ctx context.Context, r live.Reader, catalogue *claim.Catalogue, namespace string) (rows []Workload, notes []string, err error) {
	look := &clusterScan{live: r, namespace: namespace, hasher: ownership.NewHasher(), catalogue: catalogue, kinds: map[object.GVK]bool{}}
	if err := look.listClaimants(ctx); err != nil || len(look.kinds) == 0 {
		return nil, look.notes, err
	}
	if err := look.listApplications(ctx); err != nil {
		return nil, nil, err
	}
	for gvk := range look.kinds {
		of, err := look.of(ctx, gvk)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, of...)
	}
	slices.SortFunc(rows, func(a, b Workload) int { return a.Object.Compare(b.Object) })
	slices.Sort(look.notes)
	return rows, look.notes, nil
}

// counting are the kinds of claimants that move a number.
func counting(c *claim.Catalogue) []object.GVK {
	var out []object.GVK
	for _, gvk := range c.Kinds() {
		if slices.ContainsFunc(c.Entries(), func(e claim.Entry) bool { return e.Count != nil && readsKind(e, gvk) }) {
			out = append(out, gvk)
		}
	}
	return out
}

func readsKind(e claim.Entry, gvk object.GVK) bool {
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind}
	return slices.ContainsFunc(e.Evidence, func(ev claim.Evidence) bool { return len(ev.Versions) > 0 && ev.Object.Matches(id) })
}

// clusterScan is one look at a cluster.
type clusterScan struct {
	live      live.Reader
	namespace string // of the workloads; empty for all
	hasher    ownership.Hasher
	catalogue *claim.Catalogue
	index     claim.Index
	kinds     map[object.GVK]bool // that claimants name
	apps      map[string][]application
	unread    bool // Applications, or what is ignored for them, may not all be read
	notes     []string
}

// listClaimants reads the claimants of a number, of each kind at the first version that is served.
func (l *clusterScan) listClaimants(ctx context.Context) error {
	read := map[object.GVK]bool{}
	var refused error
	listed := 0
	for _, gvk := range counting(l.catalogue) {
		kind := object.GVK{Group: gvk.Group, Kind: gvk.Kind}
		if read[kind] {
			continue
		}
		found, err := l.live.List(ctx, live.Interest{GVK: gvk, Namespace: l.namespace})
		if errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if read[kind] = true; apierrors.IsForbidden(err) {
			refused = err
			l.note("what each "+gvk.Kind+" scales is left out", err)
		} else if err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		listed += len(found)
		for _, o := range found {
			l.claimant(o)
		}
	}
	if listed == 0 && refused != nil {
		return fmt.Errorf("list autoscalers: %w", refused)
	}
	return nil
}

// note says what is not known since it may not be read.
func (l *clusterScan) note(what string, why error) {
	l.notes = append(l.notes, what+": "+redact.MaskText(why.Error()))
}

func (l *clusterScan) claimant(o object.Object) {
	claims := l.catalogue.Read(o)
	l.index.Put(o.ID(), claims)
	for _, x := range claims {
		l.target(x)
	}
}

// target notes the kind that a claimant of a number names. Where it leaves the version out, Kubernetes' own kinds are known.
func (l *clusterScan) target(x claim.Claimant) {
	switch {
	case !x.Counts():
	case x.At.Version != "":
		l.kinds[x.At] = true
	case x.Target.Group == "apps" || x.Target.Group == "":
		l.kinds[object.GVK{Group: "apps", Version: "v1", Kind: x.Target.Kind}] = true
	}
}

// of makes the rows of one kind.
func (l *clusterScan) of(ctx context.Context, gvk object.GVK) ([]Workload, error) {
	found, err := l.live.List(ctx, live.Interest{GVK: gvk, Namespace: l.namespace})
	switch {
	case errors.Is(err, live.ErrUnknownKind): // an autoscaler of what is not there scales nothing
	case apierrors.IsForbidden(err):
		l.note("each "+gvk.Kind+" is left out", err)
	case err != nil:
		return nil, err
	}
	var out []Workload
	for _, o := range found {
		if !l.index.Targets(o.ID()) {
			continue
		}
		row, ok, err := l.row(o)
		if err != nil {
			return nil, fmt.Errorf("read managedFields: %w", err)
		}
		if ok {
			out = append(out, row)
		}
	}
	return out, nil
}

func (l *clusterScan) row(o object.Object) (Workload, bool, error) {
	e := Evidence{Object: o, Hasher: l.hasher, Now: time.Now()}
	e.Claims = l.catalogue.On(claim.Subject{Live: o}, l.index.For(o.ID()))
	e.Parent = dialect.ParentOf(o, func(k app.Key) bool { return k.Kind == "Application" && len(l.apps[k.Name]) > 0 })
	if e.Parent.Key.Kind == "Application" {
		e.Parent.Key, e.Agreed, e.Unread = l.agreed(e.Parent.Key, o, e.Claims)
	}
	return Inspect(e)
}
