package argocd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestASyncOfAllButSomeNamesTheObjectsOfTheStatus: as with the argocd command, * and exceptions are put into names.
func TestASyncOfAllButSomeNamesTheObjectsOfTheStatus(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Name: "web"}
	services := object.ID{Group: "*", Kind: "Service", Name: "*"}
	typo := object.ID{Group: "apps", Kind: "Deployment", Name: "typo"}
	const omitted = `{type: ObjectsNotListedWarning, message: 'status.resources has hooks only: with all objects the API server would refuse the status as too large; ` +
		"`truce dashboard` shows all objects'}"
	for name, c := range map[string]struct {
		only, except []object.ID
		conditions   string
		want         string // the objects, or the beginning of an error
	}{
		"a name":             {only: []object.ID{typo}, want: "apps/Deployment//typo"},
		"all of a kind":      {only: []object.ID{services}, want: "/Service/shop/db /Service/shop/web"},
		"all but one":        {except: []object.ID{web}, want: "/Service/shop/db /Service/shop/web"},
		"of a kind, but one": {only: []object.ID{services}, except: []object.ID{{Kind: "Service", Namespace: "shop", Name: "db"}}, want: "/Service/shop/web"},
		"of a namespace":     {only: []object.ID{{Group: "*", Kind: "*", Namespace: "elsewhere", Name: "*"}}, want: "no object in status.resources matches --resource *:*:elsewhere/*"},
		"but all":            {only: []object.ID{web}, except: []object.ID{{Group: "*", Kind: "*", Name: "*"}}, want: "no object in status.resources matches --resource apps:Deployment:web, !*:*:*"},
		"a hook":             {only: []object.ID{{Group: "*", Kind: "Job", Name: "*"}}, want: "no object in status.resources matches --resource *:Job:*"},
		"not listed":         {except: []object.ID{web}, conditions: omitted, want: "--resource with * or ! is about the objects in status.resources"},
	} {
		cr := given.Object(t, edited+`
status:
  conditions: [`+c.conditions+`]
  resources:
    - {group: apps, kind: Deployment, namespace: shop, name: web, status: Synced}
    - {kind: Service, namespace: shop, name: db, status: OutOfSync, requiresPruning: true}
    - {kind: Service, namespace: shop, name: web, status: Synced}
    - {group: batch, kind: Job, namespace: shop, name: migrate, hook: true}
`)
		got, err := argocd.Commands{}.Edit(dialect.Resources{App: cr}, dialect.Change{Run: &dialect.Run{Token: "t", Resources: c.only, Except: c.except}})
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
			continue
		}
		var names []string
		list, _ := got.App.At("operation", "sync", "resources").([]any)
		for _, v := range list {
			r := v.(map[string]any)
			part := func(key string) string { text, _ := r[key].(string); return text }
			names = append(names, fmt.Sprintf("%s/%s/%s/%s", part("group"), part("kind"), part("namespace"), part("name")))
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(names, " "), c.want)
		}
	}
}
