// Package render answers: which objects do these files describe, and which file and line wrote each?
//
// In: a tree of files at one revision, a directory in it, and what the custom resource lays over it (target namespace, overlay).
// Out: objects with the file and line of their documents, and every input that was read.
// Promise: a render whose inputs have not changed is answered from memory without reading a file; a failed build returns an error, never part of its objects.
// Not here: fetching the files (source), reading variables and keys (values), decryption (decrypt), order (desired).
package render

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/lookup"
	"github.com/truce-gitops/truce/internal/source"
)

// Request says what to render. The renderer does not keep it and does not change it.
type Request struct {
	// Files is the tree at the wanted revision.
	Files source.Tree
	// Path is the directory inside the tree, "." for its top.
	Path string
	// Namespace replaces the namespace of all namespaced objects (Flux spec.targetNamespace); "" keeps them.
	Namespace string
	// Overlay is what the custom resource changes in the kustomization.
	Overlay overlay.Overlay
	// Directory, if set, reads plain manifests as Argo CD's spec.source.directory does and looks at no kustomization file.
	// If nil, the directory is a kustomization, or one is generated for it as Flux does.
	Directory *Directory
	// Parts, if set, are rendered instead: one of each of several sources (render/joined).
	Parts []Request
	// Prefix is put in front of the names of the files of a part, where those are not in the tree of all.
	Prefix string
	// Home is the kind of the app that is rendered, and the namespace of what it reads beside files, with the name of its AppProject, if it has one: that gives
	// the credentials for charts that the chart depends on, and says how kustomizations are built. The zero value has none.
	Home object.ID
	// Inflate, if set, renders the charts that kustomizations name, as kustomize build --enable-helm does; nil refuses them. Of its
	// fields KubeVersion and APIVersions are read: what the charts see of the cluster. Empty ones are what the kustomizations say, or else what Helm knows.
	Inflate *release.Request
	// Chart, if set, renders the directory as a Helm chart.
	Chart *release.Request
	// Variables are replaced in the objects that were built; nil leaves them as they are.
	Variables *variables.Set
	// Decryption decrypts the encrypted files of the build; nil leaves them as they are.
	Decryption *keys.Set
	// KeyService is asked where Decryption says so. A pool of workers sets both to those of its options.
	KeyService keys.Service
	// Lookup answers what the templates of a chart ask the cluster by lookup; nil: nothing is there.
	Lookup lookup.Reader
	// Limits bound the build. Zero fields take their defaults.
	Limits Limits
}

// Directory says which files of a directory are manifests (Argo CD ApplicationSourceDirectory).
type Directory struct {
	// Recurse descends into sub-directories.
	Recurse bool `json:"recurse,omitempty"`
	// Include and Exclude are glob patterns against the path relative to Request.Path; "{a,b}" lists alternatives.
	Include string `json:"include,omitempty"`
	Exclude string `json:"exclude,omitempty"`
}

// Limits bound one build; exceeding one is an error that wraps ErrLimit.
type Limits struct {
	// Time is how long a build may take.
	Time time.Duration `json:"time,omitempty"`
	// Memory is the resident memory, in bytes, that the building process may use.
	Memory int64 `json:"memory,omitempty"`
	// Objects is how many objects a build may give.
	Objects int `json:"objects,omitempty"`
	// FileBytes is the size of the largest file that a build may read.
	FileBytes int64 `json:"fileBytes,omitempty"`
}

// OrDefault returns the limits with zero fields replaced: a minute, 1 GiB, 20 000 objects, 16 MiB a file. That is generous for
// the repositories of people and fatal for bombs.
func (l Limits) OrDefault() Limits {
	d := Limits{Time: time.Minute, Memory: 1 << 30, Objects: 20_000, FileBytes: 16 << 20}
	if l.Time <= 0 {
		l.Time = d.Time
	}
	if l.Memory <= 0 {
		l.Memory = d.Memory
	}
	if l.Objects <= 0 {
		l.Objects = d.Objects
	}
	if l.FileBytes <= 0 {
		l.FileBytes = d.FileBytes
	}
	return l
}

// Object is a rendered object and where it comes from.
type Object struct {
	Data object.Object
	// File is the file in the tree whose document became this object; for a generated object the kustomization file. "" is unknown.
	File string
	// Line is the 1-based line at which the document (or the generator's entry) starts; 0 is unknown.
	Line int
	// Sensitive are the fields that hold what came from a Secret, in the form of redact.Sensitive.
	Sensitive [][]string
	// Definition says that it is of a chart's directory crds, and no part of the release.
	Definition bool
}

// Result is a complete render. The caller owns it and its objects.
type Result struct {
	Objects []Object
	// Inputs is a digest over the request and every input really read. Renderers below Cached leave it empty.
	Inputs string
	// Reads are those inputs, in path order. Renderers below Cached leave it empty.
	Reads []Read
	// Release is the release that the objects of a chart are of; nil for other requests.
	Release *release.Release
	// Rendered is false when the answer came from a cache.
	Rendered bool
	// Secrets are what encrypted files held, and Secrets of the cluster that templates asked for.
	Secrets keys.Values
	// Momentary says that the result depends on what the cluster held at that moment: another render may give another one.
	Momentary bool
	// Inflated says that charts which kustomizations name were rendered (Request.Inflate).
	Inflated bool
}

// Renderer makes objects of files. Render may be called concurrently and may block until ctx ends; the result is the caller's.
// Errors name the directory, and file and line where one is to blame (*Error).
type Renderer interface {
	Render(ctx context.Context, r Request) (Result, error)
}

// HasEdits reports whether the request changes what the files say.
func (r Request) HasEdits() bool { return r.Namespace != "" || r.Overlay.Builds() }
