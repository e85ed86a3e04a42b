package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// refreshWithin is how long a refresh is waited for: where no controller runs there is no end of it.
const refreshWithin = time.Minute

// printsResources reports whether the custom resources themselves are printed: called as argocd, -o json means to list and get what it means there.
func (f *appFlags) printsResources() bool {
	return f.program.argocd() && (f.output == "json" || f.output == "yaml")
}

// nameOf is what -o name prints of an app.
func (f *appFlags) nameOf(k app.Key) string {
	if f.program.argocd() && isApplication(k) {
		return namespacedName(k)
	}
	return resourceName(k)
}

// printArray prints custom resources as an array, as argocd does; to templates and columns it is a list of kubectl's.
func (f *appFlags) printArray(items []any) error {
	if f.form.print != nil {
		return f.structured(listJSON{APIVersion: "v1", Kind: "List", Items: items})
	}
	return f.structured(items)
}

// printApplications prints the Applications that were selected, but for those that are gone by now.
func (l *listFlags) printApplications(ctx context.Context, c *Cluster, chosen []view.Summary) error {
	ns, err := l.namespace()
	if err != nil {
		return err
	}
	found, err := resourcesOf(ctx, c, app.Key{Kind: dialects["argocd"], Namespace: ns})
	if err != nil {
		return err
	}
	items := []any{}
	for _, s := range chosen {
		if r, there := found[s.Key]; there {
			items = append(items, shownResource(r.Object))
		}
	}
	if l.watch {
		return eachStructured(l.appFlags, items)
	}
	return l.printArray(items)
}

// getResources prints the custom resources of the apps that are meant. They are refreshed first for --refresh and --hard-refresh.
func (f *appFlags) getResources(ctx context.Context, set *pflag.FlagSet, args []string) error {
	f.form.one = len(args) == 1
	return f.connected(ctx, func(c *Cluster) error {
		keys, err := f.targets(ctx, c, args)
		if err != nil {
			return err
		}
		items := []any{}
		err = forEach(ctx, f.program, 0, keys, func(ctx context.Context, k app.Key) error {
			r, err := getResource(ctx, c, k, refreshes(set))
			if err == nil {
				items = append(items, shownResource(r.Object))
			}
			return err
		})
		switch {
		case ctx.Err() != nil || f.form.one && err != nil:
			return err
		case f.form.one:
			return f.structured(items[0])
		}
		return alsoFailed(f.program, err, f.printArray(items))
	})
}

// getResource returns the custom resource of an app, refreshed first where that is asked for.
func getResource(ctx context.Context, c *Cluster, key app.Key, refresh string) (resource.Resource, error) {
	found, err := resourcesOf(ctx, c, key)
	if err != nil {
		return resource.Resource{}, err
	}
	r, there := found[key]
	if !there {
		return r, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s: it was deleted", key)}
	}
	if refresh == "" || !isApplication(key) {
		return r, nil
	}
	return refreshed(ctx, c, r, refresh)
}

// refreshes is which refresh the flags ask for; empty for none.
func refreshes(set *pflag.FlagSet) string {
	for flag, how := range map[string]string{"hard-refresh": "hard", "refresh": "normal"} {
		if f := set.Lookup(flag); f.Changed && f.Value.String() == "true" {
			return how
		}
	}
	return ""
}

// refreshed is a custom resource after its refresh.
func refreshed(ctx context.Context, c *Cluster, r resource.Resource, how string) (resource.Resource, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshWithin, &exit.Error{
		Code: exit.Cluster, Err: fmt.Errorf("%s: no controller has refreshed it within %s", r.Key, refreshWithin),
	})
	defer cancel()
	out, err := c.RefreshResource(ctx, r, how)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// resourcesOf are the custom resources of a kind in a namespace, in all for none, or the one that the key names whole.
func resourcesOf(ctx context.Context, c *Cluster, of app.Key) (map[app.Key]resource.Resource, error) {
	kind, _ := resource.KindNamed(of.Kind)
	found, err := c.ListResources(ctx, resource.Query{Kinds: []resource.Kind{kind}, Namespace: of.Namespace, Name: of.Name})
	if err == nil && len(found.Refused) > 0 {
		err = found.Refused[0]
	}
	out := map[app.Key]resource.Resource{}
	for _, r := range found.Items {
		out[r.Key] = r
	}
	return out, err
}
