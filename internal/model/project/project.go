// Package project answers: what may an app of a project deploy, from where, to where, and when?
//
// In: projects, as their dialect reads them; what an app asks for; an object; a time.
// Out: why a project refuses the app or the object; whether a sync window keeps changes out, and until when.
// Promise: pure; what a project does not permit is refused, and one that cannot be read permits nothing.
// Not here: reading custom resources (dialect/argocd), when what they say is looked up (controller), carrying it out (tenancy).
package project

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/glob"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Project bounds the apps that name it. Its meaning is that of Argo CD's AppProject.
type Project struct {
	Namespace, Name string
	Labels          map[string]string
	Repositories    []string      // patterns; one that begins with "!" refuses what it matches
	AppNamespaces   []string      // patterns of other namespaces whose apps may name it
	Destinations    []Destination // patterns
	Cluster         Kinds         // of objects without a namespace
	Namespaced      Kinds
	Accounts        []Account
	Windows         []Window
	OnlyOwnClusters bool // it permits the clusters alone that are its own
	// Problems are what of it cannot be read, or carried out: there is nothing that it permits then.
	Problems []string
}

// Destination is where objects go, or a pattern of that: a cluster by its address or its name, and a namespace.
type Destination struct {
	Server, Name, Namespace string
}

// Kinds are the kinds of objects that may be deployed: those that Allowed has (all of them with AllowsAll), without those that Denied has.
type Kinds struct {
	AllowsAll       bool
	Allowed, Denied []Kind
}

// Kind is a pattern of objects, in the syntax of path.Match. An empty Name matches all names.
type Kind struct {
	Group, Kind, Name string
}

// Account is a service account as which objects are written where Where matches their destination.
type Account struct {
	Where           Destination
	Namespace, Name string // an empty Namespace is that of the destination, or of the app where that names none
}

// Member is an app, as projects judge it. The zero value is one that no project bounds.
type Member struct {
	Project         string // name
	Namespace, Name string // of the app
	Repositories    []string
	Destination     Destination // Server and Name are both set once the cluster is known; an empty Namespace is the one that each object names
	Cluster         Cluster
}

// Refusal says why an app may not be what it is in the project; empty for no reason. Where its objects go is not judged before its cluster is known.
func (p Project) Refusal(m Member) string {
	if why := p.unfollowed(); why != "" {
		return why
	}
	for _, repository := range m.Repositories {
		if hasDotSegments(repository) || !matches(normalizedAll(p.Repositories), normalized(repository), '/') {
			return fmt.Sprintf("application repo %s is not permitted in project '%s'", withoutCredentials(repository), p.Name)
		}
	}
	if !m.Destination.isKnown() {
		return ""
	}
	if !p.allowsDestination(m.Destination) || p.OnlyOwnClusters && m.Cluster.Project != p.Name {
		return fmt.Sprintf("application destination server '%s' and namespace '%s' do not match any of the allowed destinations in project '%s'",
			m.Destination.Server, m.Destination.Namespace, p.Name)
	}
	return ""
}

// unfollowed says why the project permits nothing; empty for one that can be followed.
func (p Project) unfollowed() string {
	if len(p.Problems) == 0 {
		return ""
	}
	return fmt.Sprintf("AppProject %s/%s cannot be followed, and so permits nothing: %s", p.Namespace, p.Name, strings.Join(p.Problems, "; "))
}

// RefusalOf says why an app of the project may not have an object in a cluster; empty where it may. An object without a namespace lies in none.
func (p Project) RefusalOf(id object.ID, in Destination) string {
	if why := p.unfollowed(); why != "" {
		return why
	}
	kinds := p.Namespaced
	if id.Namespace == "" {
		kinds = p.Cluster
	}
	if !kinds.allow(id) {
		return fmt.Sprintf("resource %s:%s is not permitted in project %s", id.Group, id.Kind, p.Name)
	}
	in.Namespace = id.Namespace
	if id.Namespace != "" && in.isKnown() && !p.allowsDestination(in) {
		return fmt.Sprintf("namespace %s is not permitted in project '%s'", id.Namespace, p.Name)
	}
	return ""
}

// AccountFor returns the service account as which an app's objects are written; empty names where the project names none for them. It is the first one whose
// entry matches the cluster's address, as in Argo CD, else the first one that matches its name: what such an entry bounds is not written as truce itself.
func (p Project) AccountFor(m Member) (namespace, name string) {
	to := m.Destination
	if !to.isKnown() {
		return "", ""
	}
	for _, cluster := range []string{to.Server, to.Name} {
		for _, a := range p.Accounts {
			if matchesPattern(a.Where.Server, cluster) && (matchesPattern(a.Where.Namespace, to.Namespace) || a.Where.Namespace == to.Namespace) {
				return cmp.Or(a.Namespace, to.Namespace, m.Namespace), a.Name
			}
		}
	}
	return "", ""
}

// admits reports whether apps of a namespace may name the project.
func (p Project) admits(namespace string) bool {
	return p.Namespace == namespace || matchesAny(p.AppNamespaces, namespace)
}

// allowsDestination reports whether a destination matches an entry of the project, and none refuses it: as Argo CD has it, an entry with "!" matches
// all else, and refuses what it names, a cluster in the namespaces of the entry and a namespace in its cluster.
func (p Project) allowsDestination(d Destination) bool {
	allowed := false
	for _, entry := range p.Destinations {
		name, server, namespace := permits(entry.Name, d.Name), permits(entry.Server, d.Server), permits(entry.Namespace, d.Namespace)
		switch {
		case (name || server) && namespace:
			allowed = true
		case namespace && (isDenial(entry.Name) || isDenial(entry.Server)), (name || server) && isDenial(entry.Namespace):
			return false
		}
	}
	return allowed
}

func (k Kinds) allow(id object.ID) bool {
	return (k.AllowsAll || isListed(k.Allowed, id)) && !isListed(k.Denied, id)
}

func isListed(all []Kind, id object.ID) bool {
	for _, k := range all {
		if matchesPath(k.Group, id.Group) && matchesPath(k.Kind, id.Kind) && (k.Name == "" || matchesPath(k.Name, id.Name)) {
			return true
		}
	}
	return false
}

// matchesPath matches nothing by a pattern that is malformed.
func matchesPath(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// matches reports whether a text matches one of some patterns, and none that begins with "!" refuses it.
func matches(patterns []string, text string, separator rune) bool {
	allowed := false
	for _, pattern := range patterns {
		switch negated, denies := strings.CutPrefix(pattern, "!"); {
		case denies && matchesGlob(negated, text, separator):
			return false
		case denies, pattern == "*", matchesGlob(pattern, text, separator):
			allowed = true
		}
	}
	return allowed
}

func isDenial(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// permits reports whether a text matches a pattern, or is not what one with "!" names. An empty text, and an empty pattern, are not known.
func permits(pattern, text string) bool {
	if negated, denies := strings.CutPrefix(pattern, "!"); denies {
		return !matchesGlob(negated, text, 0)
	}
	return matchesPattern(pattern, text)
}

// matchesPattern reports whether a text matches a pattern.
func matchesPattern(pattern, text string) bool {
	return pattern == "*" || matchesGlob(pattern, text, 0)
}

// matchesAny reports whether a text matches one of some patterns; those between slashes are regular expressions, as in Argo CD.
func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matchesPattern(pattern, text) || matchesExpression(pattern, text) })
}

// matchesGlob matches nothing by a pattern that is malformed, or empty.
func matchesGlob(pattern, text string, separator rune) bool {
	compiled, err := glob.Compile(pattern, separator)
	return err == nil && compiled != nil && compiled.MatchString(text)
}
