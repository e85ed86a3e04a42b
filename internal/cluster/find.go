package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Served is a kind with the names that people have for it.
type Served struct {
	GVK   object.GVK
	Name  string   // of the resource: deployments
	Short []string // deploy
	Resource
}

// Find returns the kind that a word means, as kubectl reads it: deploy, deployment, deployments, deployments.apps,
// deployments.v1.apps. Of several groups that have the word the one comes first that the server lists first. live.ErrUnknownKind says
// that the server serves nothing of that name; another error, that it may be of a group that does not answer.
func (c *Client) Find(ctx context.Context, word string) (Served, error) {
	found, err := c.discover(ctx)
	if err != nil {
		return Served{}, err
	}
	name, rest, _ := strings.Cut(strings.ToLower(word), ".")
	for _, s := range found.kinds {
		if s.called(name) && s.within(rest) {
			return s, nil
		}
	}
	for _, at := range found.unanswered {
		group, version, _ := strings.Cut(at, "/")
		if some := (Served{GVK: object.GVK{Group: group, Version: version}}); some.within(rest) {
			return Served{}, fmt.Errorf("%q is not known: the API server has no answer of %s, which may serve it", word, at)
		}
	}
	return Served{}, fmt.Errorf("%q: %w", word, live.ErrUnknownKind)
}

func (s Served) called(name string) bool {
	return name != "" && (name == s.Name || name == strings.ToLower(s.GVK.Kind) || slices.Contains(s.Short, name))
}

// within reports whether what stands behind a resource's name, such as apps or v1.apps, is the kind's.
func (s Served) within(rest string) bool {
	return rest == "" || rest == s.GVK.Group || rest == s.GVK.Version+"."+s.GVK.Group || s.GVK.Group == "" && rest == s.GVK.Version
}

// Served lists every kind, of each group's versions the preferred one first. A group that does not answer is left out.
func (c *Client) Served(ctx context.Context) ([]Served, error) {
	found, err := c.discover(ctx)
	return found.kinds, err
}

// discovered is what the server has answered about all that it serves.
type discovered struct {
	kinds      []Served // of each group's versions the preferred one first
	answered   []string // the apiVersions that have answered, some without a kind
	unanswered []string // those that have not, sorted
}

func (c *Client) discover(ctx context.Context) (discovered, error) {
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if groups == nil || lists == nil { // otherwise the error is about single groups
		return discovered{}, fmt.Errorf("discover: %w", err)
	}
	var out discovered
	byVersion := map[string]*metav1.APIResourceList{}
	for _, l := range lists {
		byVersion[l.GroupVersion] = l
		out.answered = append(out.answered, l.GroupVersion)
	}
	for _, g := range groups {
		for _, v := range inOrder(g) {
			out.kinds = append(out.kinds, servedResources(byVersion[v])...)
		}
	}
	failed, _ := discovery.GroupDiscoveryFailedErrorGroups(err)
	for at := range failed {
		out.unanswered = append(out.unanswered, at.String())
	}
	slices.Sort(out.unanswered)
	return out, nil
}

// inOrder lists a group's apiVersions, the preferred one first.
func inOrder(g *metav1.APIGroup) []string {
	out := []string{g.PreferredVersion.GroupVersion}
	for _, v := range g.Versions {
		if v.GroupVersion != out[0] {
			out = append(out, v.GroupVersion)
		}
	}
	return out
}

func servedResources(list *metav1.APIResourceList) []Served {
	if list == nil {
		return nil
	}
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return nil
	}
	found := map[string]Served{}
	for _, r := range list.APIResources {
		if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "get") {
			continue
		}
		found[r.Name] = Served{
			GVK: object.GVK{Group: gv.Group, Version: gv.Version, Kind: r.Kind}, Name: r.Name,
			Short: append(slices.Clone(r.ShortNames), r.SingularName), Resource: newResource(gv, r),
		}
	}
	out := make([]Served, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}
