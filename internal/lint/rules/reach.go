package rules

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
)

// meeting says whether what two units describe comes together in one cluster. The zero value is that it does not.
type meeting string

const (
	together meeting = "together"
	perhaps  meeting = "perhaps" // nothing says that it does not
)

// reach returns which units meet. Apps that are named alike in two directories are those of two clusters, and so is all that stands beside
// them: clusters/staging/apps.yaml and clusters/production/apps.yaml.
type reach struct {
	splits map[string]map[string]bool // by directory: its entries that are clusters of their own
	known  map[[2]*discover.Unit]meeting
}

func newReach(units []discover.Unit) *reach {
	r := &reach{splits: map[string]map[string]bool{}, known: map[[2]*discover.Unit]meeting{}}
	files := map[app.Key][]string{}
	for _, u := range units {
		if u.Dialect != discover.Bare {
			files[u.App.Key] = append(files[u.App.Key], u.File)
		}
	}
	for _, list := range files {
		slices.SortFunc(list, bySegments)
		for i := 1; i < len(list); i++ {
			if list[i-1] != list[i] {
				r.split(list[i-1], list[i])
			}
		}
	}
	return r
}

// bySegments is the order of paths in which all that is below one directory stands together: of its entries, each is beside the next one.
func bySegments(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

func (r *reach) split(a, b string) {
	dir, x, y := forkOfPaths(a, b)
	if r.splits[dir] == nil {
		r.splits[dir] = map[string]bool{}
	}
	r.splits[dir][x], r.splits[dir][y] = true, true
}

// forkOfPaths is the directory in which the ways to two files part, and how they go on.
func forkOfPaths(a, b string) (dir, x, y string) {
	from, to := strings.Split(path.Clean(a), "/"), strings.Split(path.Clean(b), "/")
	i := 0
	for i < len(from)-1 && i < len(to)-1 && from[i] == to[i] {
		i++
	}
	return path.Join(from[:i]...), from[i], to[i]
}

// meet says whether two units meet.
func (r *reach) meet(a, b *discover.Unit) meeting {
	if a == b {
		return together
	}
	if a.Dialect == discover.Bare || b.Dialect == discover.Bare {
		return perhaps
	}
	pair := [2]*discover.Unit{a, b}
	m, known := r.known[pair]
	if !known {
		m = r.apps(a, b)
		r.known[pair] = m
	}
	return m
}

func (r *reach) apps(a, b *discover.Unit) meeting {
	dir, x, y := forkOfPaths(a.File, b.File)
	switch {
	case destination(a) != destination(b), x != y && (path.Base(dir) == "clusters" || r.splits[dir][x] && r.splits[dir][y]):
		return ""
	case a.Dialect != b.Dialect, x != y && slices.Contains(stages, path.Base(dir)):
		return perhaps
	}
	return together
}

// stages are directories of which the entries are often, but not always, clusters of their own.
var stages = []string{"env", "envs", "environments", "overlays", "regions", "stages", "tenants"}

// cluster is where an app goes: by address, or by a name whose address is configured elsewhere. Both empty: where the app itself is.
type cluster struct{ server, name string }

// destination reads where the unit's objects go: Argo CD's spec.destination, Flux's spec.kubeConfig.
func destination(u *discover.Unit) cluster {
	text := func(keys ...string) string { s, _ := u.Resource.At(keys...).(string); return s }
	if u.Dialect == discover.ArgoCD {
		c := cluster{server: strings.TrimSuffix(text("spec", "destination", "server"), "/"), name: text("spec", "destination", "name")}
		if c.server == "https://kubernetes.default.svc" {
			c.server = ""
		}
		if c.name == "in-cluster" {
			c.name = ""
		}
		return c
	}
	ref := cmp.Or(text("spec", "kubeConfig", "secretRef", "name"), text("spec", "kubeConfig", "configMapRef", "name"))
	if ref == "" {
		return cluster{}
	}
	return cluster{name: u.App.Key.Namespace + "/" + ref}
}

// unless says under which condition two units meet.
func (m meeting) unless(a, b *discover.Unit) string {
	if m == together {
		return ""
	}
	return ", if " + a.Name() + " and " + b.Name() + " go to one cluster"
}
