package autoscaled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// InCluster lists the autoscaled workloads under Git, of all namespaces for "". Each kind is listed once, in pages: those that may claim
// something, Applications, and the kinds that an autoscaler names.
func InCluster(ctx context.Context, r live.Reader, catalogue *claim.Catalogue, namespace string) ([]Workload, error) {
	found, err := reconcile.ListClaimants(ctx, r, counting(catalogue), namespace)
	if err != nil {
		return nil, err
	}
	look := &clusterScan{live: r, hasher: ownership.NewHasher(), catalogue: catalogue, kinds: map[object.GVK]bool{}}
	for _, o := range found {
		claims := catalogue.Read(o)
		look.index.Put(o.ID(), claims)
		for _, x := range claims {
			look.target(x)
		}
	}
	if len(look.kinds) == 0 {
		return nil, nil
	}
	if err := look.listApplications(ctx); err != nil {
		return nil, err
	}
	var out []Workload
	for gvk := range look.kinds {
		rows, err := look.of(ctx, gvk, namespace)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	slices.SortFunc(out, func(a, b Workload) int { return a.Object.Compare(b.Object) })
	return out, nil
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
	hasher    ownership.Hasher
	catalogue *claim.Catalogue
	index     claim.Index
	kinds     map[object.GVK]bool // that claimants name
	apps      map[string][]application
}

// application is what is needed of an Application.
type application struct {
	key     app.Key
	ignore  ignore.Rules
	respect bool
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

func (l *clusterScan) listApplications(ctx context.Context) error {
	l.apps = map[string][]application{}
	found, err := l.live.List(ctx, live.Interest{GVK: registry.Applications})
	if errors.Is(err, live.ErrUnknownKind) {
		return nil
	}
	for _, o := range found {
		a := argocd.Applications{}.App(o, policy.Policy{})
		options, _ := o.At("spec", "syncPolicy", "syncOptions").([]any)
		l.apps[o.Name()] = append(l.apps[o.Name()], application{
			key: a.Key, ignore: a.Ignore, respect: slices.Contains(options, any("RespectIgnoreDifferences=true")),
		})
	}
	return err
}

// of makes the rows of one kind.
func (l *clusterScan) of(ctx context.Context, gvk object.GVK, namespace string) ([]Workload, error) {
	found, err := l.live.List(ctx, live.Interest{GVK: gvk, Namespace: namespace})
	if errors.Is(err, live.ErrUnknownKind) {
		return nil, nil // an autoscaler of what is not there scales nothing
	}
	if err != nil {
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
		e.Parent.Key, e.Agreed = l.agreed(e.Parent.Key, o, e.Claims)
	}
	return Inspect(e)
}

// agreed finds the Application, by its name where the mark has no more, and says whether it leaves the count alone, in a sync as well.
func (l *clusterScan) agreed(key app.Key, o object.Object, claims []claim.Claim) (app.Key, bool) {
	all := l.apps[key.Name]
	at := slices.IndexFunc(all, func(a application) bool { return a.key.Namespace == key.Namespace })
	switch {
	case at < 0 && len(all) == 1:
		at = 0
	case at < 0:
		return key, false
	}
	a := all[at]
	return a.key, a.respect && slices.ContainsFunc(claims, func(c claim.Claim) bool { return c.Counts() && a.leaves(o, c.Path) })
}

// leaves reports whether a rule covers the field. What only running jq could decide counts as covered, if it names the field at all.
func (a application) leaves(o object.Object, p field.Path) bool {
	owners, err := ownership.Entries(o)
	if err != nil {
		return false // rivals.Of says it
	}
	last := p[len(p)-1].FieldName
	for _, r := range a.ignore {
		if r.Target.Matches(o) && last != nil && slices.ContainsFunc(r.Queries, func(q string) bool { return strings.Contains(q, *last) }) {
			return true
		}
	}
	covered := a.ignore.Covers(ignore.Observed{Desired: o, Live: o, Owners: owners})
	return slices.ContainsFunc(covered, func(x ignore.Covered) bool { return x.Path.Equals(p) })
}
