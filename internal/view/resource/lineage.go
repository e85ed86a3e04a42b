package resource

import (
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Node is an object that an app lists as its own, with those below it where it is an app itself.
type Node struct {
	ID       object.ID
	Children []Node
}

// IsCustomResource reports whether an object is one of Flux or Argo CD.
func (n Node) IsCustomResource() bool { return isGitOpsGroup(n.ID.Group) }

func isGitOpsGroup(group string) bool {
	return group == "argoproj.io" || strings.HasSuffix(group, ".fluxcd.io")
}

// Trace says by which app an object is kept, and from which source.
type Trace struct {
	ID object.ID
	// Makers are the objects that own it, up to the one that the app describes; none where that is the object itself.
	Makers []object.ID
	App    *Resource // nil for none
	By     string    // whose status the app has: truce, Flux, Argo CD
	Source *Resource // nil where the app names an address itself, or where it is not in the cluster
	// Unknown says what could not be found out.
	Unknown []string
}

// EventQuery says which Events are meant.
type EventQuery struct {
	Namespace string        // empty for all
	About     []app.Key     // custom resources, with an empty Name for all of a kind; none for all of Flux and Argo CD
	Types     []string      // Normal, Warning; none for both
	Since     time.Duration // 0 for all that the API server has
}

// Event is one Event about a custom resource.
type Event struct {
	ID              string // of the Event itself
	About           app.Key
	Type, Reason    string
	Message, By     string
	At, First       time.Time
	Count           int64
	isOfGitOpsGroup bool
}

// ReadEvent reads a core Event.
func ReadEvent(o object.Object) Event {
	group, _, _ := strings.Cut(o.StringAt("involvedObject", "apiVersion"), "/")
	e := Event{
		ID: o.Namespace() + "/" + o.Name(), Type: o.StringAt("type"), Reason: o.StringAt("reason"), Message: redact.MaskText(o.StringAt("message")), By: o.StringAt("reportingComponent"),
		About:           app.Key{Kind: o.StringAt("involvedObject", "kind"), Namespace: o.StringAt("involvedObject", "namespace"), Name: o.StringAt("involvedObject", "name")},
		isOfGitOpsGroup: isGitOpsGroup(group),
	}
	if e.By == "" {
		e.By = o.StringAt("source", "component")
	}
	e.Count, _ = o.At("count").(int64)
	if n, ok := o.At("series", "count").(int64); ok {
		e.Count = n
	}
	for _, at := range []string{o.StringAt("series", "lastObservedTime"), o.StringAt("lastTimestamp"), o.StringAt("eventTime"), o.StringAt("metadata", "creationTimestamp")} {
		if t := instant(at); t.After(e.At) {
			e.At = t
		}
	}
	e.First = instant(o.StringAt("firstTimestamp"))
	if e.First.IsZero() {
		e.First = instant(o.StringAt("eventTime"))
	}
	return e
}

// Holds reports whether an Event is meant.
func (q EventQuery) Holds(e Event, now time.Time) bool {
	about := slices.ContainsFunc(q.About, func(k app.Key) bool {
		return e.About.Kind == k.Kind && (k.Name == "" || e.About.Name == k.Name && (k.Namespace == "" || e.About.Namespace == k.Namespace))
	})
	of := slices.ContainsFunc(q.Types, func(kind string) bool { return strings.EqualFold(kind, e.Type) })
	return e.isOfGitOpsGroup && (about || len(q.About) == 0) && (of || len(q.Types) == 0) && (q.Since == 0 || now.Sub(e.At) <= q.Since)
}
