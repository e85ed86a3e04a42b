package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/readonly"
	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/controller/admission"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/reconcile/served"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// parallelReads is how many objects are looked at, at once.
const parallelReads = 8

// clusterState is the cluster as a reader sees it.
type clusterState struct {
	cluster *cluster.Client
	reader  live.Reader
	writer  apply.Writer

	configured *admission.Reader
}

// withCluster compares with what the cluster holds, and with what a dry run says that an apply would leave.
func (c comparison) withCluster(ctx context.Context, version string) ([]adhoc.Subject, adhoc.Comparer, error) {
	client, err := cluster.Connect(cluster.Options{Target: c.query.Target, UserAgent: "truce/" + version})
	if err != nil {
		return nil, adhoc.Comparer{}, err
	}
	g := clusterState{cluster: client, reader: list.Reader{Cluster: client}, writer: readonly.Writer{Writer: ssa.Writer{Cluster: client}}}
	g.configured = &admission.Reader{Cluster: client, Live: g.reader}
	set, err := g.settle(ctx, c)
	if err != nil {
		return nil, adhoc.Comparer{}, err
	}
	subjects, err := g.all(ctx, set)
	if err != nil {
		return nil, adhoc.Comparer{}, err
	}
	c.unasked(subjects)
	all, err := g.claimants(ctx, c.query.Claims, set)
	if err != nil {
		return nil, adhoc.Comparer{}, err
	}
	if len(all) > 0 {
		crds, err := c.definitions(ctx, g, set)
		if err != nil {
			return nil, adhoc.Comparer{}, err
		}
		all = append(all, crds...)
	}
	return subjects, c.judge(append(set.Data(), all...)), nil
}

// unasked says that without the right to patch the answer is no better than offline.
func (c comparison) unasked(subjects []adhoc.Subject) {
	n, why := 0, ""
	for _, s := range subjects {
		if s.Unasked != "" {
			n, why = n+1, s.Unasked
		}
	}
	if n > 0 {
		c.note("compared without a dry run, by what Git names alone: %d of the objects (%s)", n, why)
	}
}

// settle gives each object its namespace: that of the command, or of the kubeconfig's context, where it names none.
func (g clusterState) settle(ctx context.Context, c comparison) (desired.Set, error) {
	ns := c.query.Namespace
	if ns == "" {
		ns = g.cluster.Namespace()
	}
	ask := served.Scopes{Cluster: g.cluster}
	var unreachable error
	set, err := desired.NormalizeUnmarked(c.git, ns, func(gvk object.GVK) desired.Scope {
		s, err := ask.ScopeOf(ctx, gvk)
		if err != nil {
			unreachable = errors.Join(unreachable, fmt.Errorf("ask for %s: %w", gvk, err))
			return desired.Unserved
		}
		return s
	})
	if unreachable != nil {
		return set, unreachable
	}
	return set, exit.WithCode(exit.Render, err)
}

func (g clusterState) all(ctx context.Context, set desired.Set) ([]adhoc.Subject, error) {
	out := make([]adhoc.Subject, len(set.Objects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, o := range set.Objects {
		group.Go(func() error {
			var err error
			if out[i], err = g.subject(ctx, o); err != nil {
				return fmt.Errorf("read %s: %w", o.ID, err)
			}
			return nil
		})
	}
	return out, group.Wait()
}

// subject reads one object and asks what an apply would make of it. What the server refuses to try is reported for that object
// alone, and it is compared as far as it goes without.
func (g clusterState) subject(ctx context.Context, o desired.Object) (adhoc.Subject, error) {
	const tries = 5
	s := adhoc.Subject{Desired: o}
	for range tries {
		var err error
		s.Live, err = g.reader.Get(ctx, o.GVK, o.ID)
		if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
			s.Live = nil
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if s.Expected, err = g.expect(ctx, o, s.Live); err == nil {
			err = g.additions(ctx, &s)
		}
		if err == nil {
			err = g.mutators(ctx, &s)
		}
		switch {
		case err == nil:
			return s, nil
		case ctx.Err() != nil:
			return s, ctx.Err()
		case errors.Is(err, apply.ErrForbidden):
			s.Unasked = err.Error()
			return s, nil
		case !errors.Is(err, apply.ErrStale) && !errors.Is(err, apply.ErrGone):
			s.Problem = "dry run: " + err.Error()
			return s, nil
		}
	}
	s.Problem = "dry run: it keeps changing"
	return s, nil
}

// additions asks which of the fields that Git does not name the server would not put there by itself.
func (g clusterState) additions(ctx context.Context, s *adhoc.Subject) error {
	found, err := adhoc.FindAdditions(*s)
	if err != nil || len(found) == 0 {
		return err
	}
	t := apply.Target{GVK: s.Desired.GVK, ID: s.Desired.ID, UID: s.Live.UID(), ResourceVersion: s.Live.ResourceVersion()}
	s.Asked, err = reconcile.ProbeAdditions(ctx, g.writer, t, s.Live, found)
	return err
}

// mutators looks up which webhooks and policies may have changed what the dry run shows as changed.
func (g clusterState) mutators(ctx context.Context, s *adhoc.Subject) error {
	mutated, err := adhoc.IsMutated(*s)
	if err != nil || !mutated {
		return err
	}
	s.Mutators.All, err = g.configured.Mutators(ctx, s.Desired.GVK, mutation.Written(s.Desired.Data, s.Live))
	if err != nil {
		s.Mutators.Unread = err.Error()
	}
	return nil
}

func (g clusterState) expect(ctx context.Context, o desired.Object, now object.Object) (object.Object, error) {
	owners, err := ownership.Entries(now)
	if err != nil {
		return nil, err
	}
	return g.writer.Apply(ctx, apply.Apply{
		Target: apply.Target{GVK: o.GVK, ID: o.ID, UID: now.UID(), ResourceVersion: now.ResourceVersion()},
		Body:   adhoc.DryRunBody(o.Data, now, owners), Manager: adhoc.Applier(owners), Force: apply.Take, DryRun: apply.Simulate,
	})
}

// claimants lists those of the whole cluster, or else of the namespaces that the objects are in: who may not read the others
// has none of their claimants either. They are not listed where they claim nothing.
func (g clusterState) claimants(ctx context.Context, claims policy.Claims, set desired.Set) ([]object.Object, error) {
	if claims == policy.ClaimsOff {
		return nil, nil
	}
	kinds := claim.Builtin().Kinds()
	out, err := reconcile.ListClaimants(ctx, g.reader, kinds, "")
	if err == nil || !apierrors.IsForbidden(err) {
		return out, err
	}
	out = nil
	for _, ns := range namespaces(set) {
		found, err := reconcile.ListClaimants(ctx, g.reader, kinds, ns)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// definitions are the CRDs of the custom resources, which say where they keep the count that is scaled.
func (c comparison) definitions(ctx context.Context, g clusterState, set desired.Set) ([]object.Object, error) {
	var out []object.Object
	asked := map[object.GVK]bool{}
	for _, o := range set.Objects {
		if asked[o.GVK] {
			continue
		}
		asked[o.GVK] = true
		crd, err := served.Definition(ctx, g.cluster, g.reader, o.GVK)
		switch {
		case err == nil:
			out = append(out, crd)
		case apierrors.IsForbidden(err):
			c.note("%v: %s is taken to keep its count in .spec.replicas", err, o.GVK.Kind)
		case !errors.Is(err, live.ErrNotFound) && !errors.Is(err, live.ErrUnknownKind):
			return nil, err
		}
	}
	return out, nil
}

func namespaces(set desired.Set) []string {
	seen := map[string]bool{}
	for _, o := range set.Objects {
		if o.ID.Namespace != "" {
			seen[o.ID.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
