// Package files answers: which objects do files on this machine describe, do they work, and how does the cluster differ from them?
//
// In: a directory or a file of manifests; a file of live objects, or a cluster.
// Out: the objects as they are rendered, their health, or a view.Detail of the differences.
// Promise: nothing is written; the cluster is asked by dry runs at most.
// Not here: apps and their sources (view), what the differences mean (reconcile/adhoc).
package files

import (
	"cmp"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/health"
	"io"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// Query is what a command asks about files of this machine, without an app.
type Query struct {
	cluster.Target
	Path      string // of a directory, or of a file
	File      string // of manifests instead; "-" is the standard input
	Live      string // a file of live objects; empty for the cluster
	In        io.Reader
	Namespace string // of objects that name none; empty for the context's
	Claims    policy.Claims
	Mask      redact.Mask
	Health    health.Rules // see Rules
	// RemoteBases says that what kustomizations name by its address is fetched.
	RemoteBases bool
	// Servers may be fetched from.
	Servers egress.Policy
	// EnableHelm says that the charts which kustomizations name are rendered, as kustomize build --enable-helm does.
	EnableHelm bool
	// Chart says how Path is rendered if it is a Helm chart; nil for with its own values.
	Chart *release.Request
}

// Rules are the rules of health that hold: an Application's, where nothing else is asked for.
func (q Query) Rules() health.Rules { return cmp.Or(q.Health, health.Serving) }
