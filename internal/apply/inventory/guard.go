package inventory

import (
	"slices"
	"time"
)

// Guard is what the prune guard remembers of an app from one run to the next, so that neither a restart nor several small prunes evade it.
type Guard struct {
	// Size is the number of objects, and Origin the identity, of the newest revision that left nothing to prune. 0 and the zero Origin are
	// unknown.
	Size   int     `json:"size,omitempty"`
	Origin Origin  `json:"origin,omitzero"`
	Pruned []Prune `json:"pruned,omitempty"` // lately, without an approval; oldest first
	// Continued is the token of what is left of an approved prune, which waits for one wave after the other; empty for none.
	Continued string `json:"continued,omitempty"`
}

// Origin is where an app's files come from and where its objects go.
type Origin struct {
	Repository string `json:"repository,omitempty"` // without scheme and credentials
	Path       string `json:"path,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Cluster    string `json:"cluster,omitempty"` // the identity of the cluster that the objects are in; empty for that of the app's custom resource
	Commit     string `json:"commit,omitempty"`  // of an earlier revision that had this origin; not always the newest
}

// Prune is one prune that needed no approval.
type Prune struct {
	At    time.Time `json:"at"`
	Count int       `json:"count"`
	Moved bool      `json:"moved,omitempty"` // the origin had changed
}

// Same reports whether two guards describe the same app: their size and origin are equal, whatever the commits.
func (g Guard) Same(other Guard) bool {
	g.Origin.Commit, other.Origin.Commit = "", ""
	return g.Size == other.Size && g.Origin == other.Origin
}

// Since returns the prunes after a time.
func (g Guard) Since(t time.Time) []Prune {
	return slices.DeleteFunc(slices.Clone(g.Pruned), func(p Prune) bool { return !p.At.After(t) })
}
