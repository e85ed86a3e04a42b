package autoscaled

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
)

// application is what is needed of an Application.
type application struct {
	key     app.Key
	ignore  ignore.Rules // with those of the settings of its Argo CD
	respect bool
}

// listApplications reads the Applications, each with what the settings of its Argo CD ignore.
func (l *clusterScan) listApplications(ctx context.Context) error {
	l.apps = map[string][]application{}
	found, err := l.listPermitted(ctx, registry.Applications)
	if err != nil || len(found) == 0 {
		return err
	}
	known, err := l.projects(ctx)
	if err != nil {
		return err
	}
	shared := map[string]ignore.Rules{} // by namespace
	for _, o := range found {
		a := argocd.Applications{}.App(o, policy.Policy{}).InProject(known)
		settings := a.ArgoNamespace()
		if _, read := shared[settings]; !read {
			if shared[settings], err = l.ignored(ctx, settings); err != nil {
				return err
			}
		}
		options, _ := o.At("spec", "syncPolicy", "syncOptions").([]any)
		l.apps[o.Name()] = append(l.apps[o.Name()], application{
			key: a.Key, ignore: slices.Concat(a.Ignore, shared[settings]), respect: slices.Contains(options, any("RespectIgnoreDifferences=true")),
		})
	}
	return nil
}

// listPermitted lists a kind in the whole cluster, as what is about a namespace may be in another one; for a user who may not, in the namespace alone. None are those
// of a kind that is not served.
func (l *clusterScan) listPermitted(ctx context.Context, gvk object.GVK) ([]object.Object, error) {
	found, err := l.live.List(ctx, live.Interest{GVK: gvk})
	if apierrors.IsForbidden(err) {
		l.unread = true
		if l.note("what other "+gvk.Kind+"s say is not known", err); l.namespace != "" {
			found, err = l.live.List(ctx, live.Interest{GVK: gvk, Namespace: l.namespace})
		}
	}
	if apierrors.IsForbidden(err) || errors.Is(err, live.ErrUnknownKind) {
		return nil, nil
	}
	return found, err
}

// projects are the AppProjects, by which the Argo CD of an Application is known.
func (l *clusterScan) projects(ctx context.Context) (project.Known, error) {
	found, err := l.listPermitted(ctx, argocd.Projects{}.Kind())
	known := project.Known{State: project.Listed}
	for _, o := range found {
		known.All = append(known.All, argocd.Projects{}.Project(o))
	}
	return known, err
}

// ignored are the rules for all Applications of the Argo CD in a namespace. What cannot be understood of them ignores nothing.
func (l *clusterScan) ignored(ctx context.Context, namespace string) (ignore.Rules, error) {
	gvk, name := argocd.Projects{}.Settings()
	cm, err := l.live.Get(ctx, gvk, object.ID{Kind: gvk.Kind, Namespace: namespace, Name: name})
	switch {
	case errors.Is(err, live.ErrNotFound):
		return nil, nil
	case apierrors.IsForbidden(err):
		l.unread = true
		l.note("what ConfigMap "+namespace+"/"+name+" ignores is not known", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	rules, _ := argocd.Projects{}.Ignored(cm)
	return rules, nil
}

// agreed finds the Application, by its name where the mark has no more, and says whether it leaves the count alone, in a sync as well; unread, that it may.
func (l *clusterScan) agreed(key app.Key, o object.Object, claims []claim.Claim) (of app.Key, agreed, unread bool) {
	all := l.apps[key.Name]
	at := slices.IndexFunc(all, func(a application) bool { return a.key.Namespace == key.Namespace })
	switch {
	case at < 0 && len(all) == 1 && (key.Namespace == "" || key.Namespace == o.Namespace()): // the latter may be a guess
		at = 0
	case at < 0:
		return key, false, l.unread
	}
	a := all[at]
	agreed = a.respect && slices.ContainsFunc(claims, func(c claim.Claim) bool { return c.Counts() && a.leaves(o, c.Path) })
	return a.key, agreed, a.respect && !agreed && l.unread
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
