package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/readonly"
	"github.com/truce-gitops/truce/internal/apply/remote"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/explain"
)

// otherCluster is the cluster of an app's spec.kubeConfig, and what looks into it.
type otherCluster struct {
	client *cluster.Client
	engine reconcile.Dependencies // without Sources and Witnesses
}

// inClusterOf returns a Cluster that looks for an app's objects where they are: c itself, or one for the cluster of spec.kubeConfig, which is connected to
// with what the user of the command may read here. The caller calls end.
func (c *Cluster) inClusterOf(ctx context.Context, a app.App) (there *Cluster, end func(), err error) {
	if !a.Kubeconfig.IsSet() {
		return c, func() {}, nil
	}
	fail := func(err error) (*Cluster, func(), error) {
		return c, func() {}, fmt.Errorf("look into %s: %s", a.TargetName(), redact.MaskText(err.Error()))
	}
	if a.Kubeconfig.Refused != "" { // which names the cluster
		return c, func() {}, errors.New(a.Kubeconfig.Refused)
	}
	found, err := remote.LocateCluster(ctx, c.cluster, c.clusters.Clouds(), a)
	if err = cmp.Or(found.Refused, err); err != nil {
		return fail(err)
	}
	r, err := c.clusters.Open(found.Kubeconfig)
	if err != nil {
		return fail(err)
	}
	if _, err := r.Connection.Identify(ctx); err != nil {
		r.Connection.Close()
		return fail(err)
	}
	out := *c
	engine := c.engine
	from := r.Dependencies
	engine.Live, engine.Writer, engine.History = from.Live, from.Writer, from.History
	engine.Scope, engine.Scale, engine.Checkers, engine.Version = from.Scope, from.Scale, from.Checkers, from.Version
	engine.Admission, engine.Remote = r.Configured, r.Connection
	engine.Home = readonly.Identity{Access: tenancy.Access{Live: c.engine.Live, Writer: readonly.Writer{Writer: c.engine.Writer}, Rights: readonly.AnyRights{}}}
	out.engine.Scope, out.engine.Version = from.Scope, from.Version // what is rendered is for that cluster
	out.other = &otherCluster{client: r.Client, engine: engine}
	return &out, r.Connection.Close, nil
}

// clusterOf is inClusterOf for a custom resource.
func (c *Cluster) clusterOf(ctx context.Context, cr object.Object) (there *Cluster, end func(), err error) {
	a := registry.AppDialects()[cr.GVK()].App(cr, policy.Policy{})
	if a.Kubeconfig.IsNamed() {
		how, err := c.process(ctx, a.Key)
		if err != nil {
			return c, func() {}, err
		}
		a = c.app(ctx, how, registry.AppDialects()[cr.GVK()], cr)
	}
	return c.inClusterOf(ctx, a)
}

// isElsewhere reports whether the objects of an app are in another cluster, or may be.
func isElsewhere(cr object.Object) bool {
	return registry.AppDialects()[cr.GVK()].App(cr, policy.Policy{}).Kubeconfig.IsSet()
}

// lists reports whether an app's status lists the object of the question.
func (t *explanation) lists(cr object.Object) bool {
	return slices.ContainsFunc(registry.Commands()[cr.GVK()].Summarize(cr).Objects, func(o dialect.ListedObject) bool { return o.ID == t.subject.ID })
}

// noteElsewhere says which apps list an object of the same name in another cluster, where there is one in this cluster.
func (t *explanation) noteElsewhere() {
	for _, cr := range t.elsewhere {
		if t.subject.Live != nil && t.lists(cr) {
			key := appKeyOf(cr)
			t.unknown(fmt.Sprintf("%s has an object of this name in another cluster: ask with --of %s/%s.", key, strings.ToLower(key.Kind), key.Name))
		}
	}
}

// gatherThere gathers what is known of an object that is not in this cluster from the app that lists it in another one. It reports whether there is such
// an app.
func (t *explanation) gatherThere(ctx context.Context) (bool, error) {
	for _, cr := range t.elsewhere {
		if !t.lists(cr) {
			continue
		}
		there, leave, err := t.clusterOf(ctx, cr)
		defer leave()
		if err != nil {
			return true, fmt.Errorf("%s is an object of %s: %w", t.subject.ID, appKeyOf(cr), err)
		}
		return true, t.gatherIn(ctx, cr, there)
	}
	return false, nil
}

// explainThere looks for the object of the question in the clusters of apps with spec.kubeConfig: of a kind that this cluster does not serve, or of the
// app that is asked about. Otherwise it returns the error.
func (c *Cluster) explainThere(ctx context.Context, q explain.Question, otherwise error) (explain.Subject, error) {
	t := &explanation{Cluster: c, question: q, mask: c.engine.Mask}
	if _, err := t.apps(ctx); err != nil {
		return t.subject, err
	}
	for _, cr := range t.elsewhere {
		if q.Of.Name != "" && q.Of != appKeyOf(cr) {
			continue
		}
		there, leave, err := c.clusterOf(ctx, cr)
		defer leave()
		if err == nil {
			err = t.find(ctx, there.objectClient())
		}
		switch {
		case err == nil && t.lists(cr):
			err = t.gatherIn(ctx, cr, there)
			return t.subject, err
		case err != nil && !errors.Is(err, live.ErrUnknownKind):
			otherwise = errors.Join(otherwise, fmt.Errorf("%s: %w", appKeyOf(cr), err))
		}
	}
	return t.subject, otherwise
}

// gatherIn gathers what is known of an app's object in its cluster.
func (t *explanation) gatherIn(ctx context.Context, cr object.Object, there *Cluster) error {
	t.Cluster, t.subject.Unknown = there, nil
	if err := t.look(ctx); err != nil {
		return err
	}
	if err := t.walk(ctx, cr); err != nil {
		return err
	}
	t.recall(ctx)
	return nil
}

// objects returns what looks into the cluster that the objects are in.
func (c *Cluster) objects() reconcile.Dependencies {
	if c.other != nil {
		return c.other.engine
	}
	return c.engine
}

// objectClient returns the client of the cluster that the objects are in.
func (c *Cluster) objectClient() *cluster.Client {
	if c.other != nil {
		return c.other.client
	}
	return c.cluster
}
