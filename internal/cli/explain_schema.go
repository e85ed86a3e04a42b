package cli

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// whyJSON is what `truce why` prints.
type whyJSON struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"` // Why
	Object     storyObjectJSON  `json:"object"`
	Path       string           `json:"path"` // "." is the object as a whole
	App        *keyJSON         `json:"app,omitempty"`
	Others     []keyJSON        `json:"otherApps,omitempty"`
	Source     *keyJSON         `json:"source,omitempty"`
	Revision   string           `json:"revision,omitempty"`
	Makers     []idJSON         `json:"makers,omitempty"`
	Field      *storyFieldJSON  `json:"field,omitempty"` // of a story of one field
	Findings   []storyFoundJSON `json:"findings"`
	Journal    []journal.Entry  `json:"journal"`
	Story      []explain.Part   `json:"story"` // what is printed, in sentences
	Unknown    []string         `json:"unknown,omitempty"`
	Notes      []string         `json:"notes,omitempty"`
}

type storyObjectJSON struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Live      bool   `json:"live"` // it is in the cluster
}

type storyFieldJSON struct {
	Path   string           `json:"path"`
	Named  bool             `json:"named"` // Git names it
	Git    any              `json:"git"`
	There  bool             `json:"there"` // live has it
	Live   any              `json:"live"`
	Writer *writerJSON      `json:"writer,omitempty"`
	Owners []storyOwnerJSON `json:"owners"`
	Places []storyPlaceJSON `json:"places"` // where Git writes it, in the order in which they are applied
	Commit *storyCommitJSON `json:"commit,omitempty"`
}

type storyOwnerJSON struct {
	Manager     string    `json:"manager"`
	Operation   string    `json:"operation"`
	Subresource string    `json:"subresource,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

type storyPlaceJSON struct {
	placeJSON
	Wins bool `json:"wins"`
}

type storyCommitJSON struct {
	Hash    string    `json:"hash"`
	Author  string    `json:"author"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Oldest  bool      `json:"oldest,omitempty"` // history is known no further back
}

type storyFoundJSON struct {
	Path     string `json:"path"`
	Git      any    `json:"git"`
	Live     any    `json:"live"`
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason"`
	Claimant string `json:"claimant,omitempty"`
}

func newWhyJSON(s explain.Subject, path field.Path) whyJSON {
	out := whyJSON{
		APIVersion: schemaVersion, Kind: "Why", Object: newStoryObject(s), Path: field.PathString(path), Revision: s.Revision,
		Journal: s.RecentEntries(path), Story: s.Describe(path), Unknown: s.Unknown, Notes: s.Notes, Findings: []storyFoundJSON{},
	}
	if out.Journal == nil {
		out.Journal = []journal.Entry{}
	}
	if s.App != nil {
		key, source := keyJSON(s.App.Key), sourceJSON(s.App.Source)
		out.App, out.Source = &key, &source
	}
	for _, o := range s.Others {
		out.Others = append(out.Others, keyJSON(o))
	}
	for _, m := range s.Makers {
		out.Makers = append(out.Makers, idJSON(m))
	}
	found := s.Found.Findings
	if len(path) > 0 {
		f := s.Field(path)
		out.Field, found = newStoryField(f), f.Findings
	}
	for _, x := range found {
		out.Findings = append(out.Findings, storyFoundJSON{field.PathString(x.Path), x.Desired, x.Live, string(x.Verdict), x.Reason, x.Claimant})
	}
	return out
}

func newStoryObject(s explain.Subject) storyObjectJSON {
	return storyObjectJSON{Group: s.ID.Group, Version: s.Version, Kind: s.ID.Kind, Namespace: s.ID.Namespace, Name: s.ID.Name, Live: s.Live != nil}
}

func newStoryField(f explain.Field) *storyFieldJSON {
	out := &storyFieldJSON{
		Path: field.PathString(f.Path), Named: f.Named, Git: f.Git, There: f.There, Live: f.Live, Writer: newWriterJSON(f.Writer),
		Owners: []storyOwnerJSON{}, Places: []storyPlaceJSON{},
	}
	for _, o := range f.Owners {
		out.Owners = append(out.Owners, newStoryOwner(o))
	}
	for i, p := range f.Places {
		out.Places = append(out.Places, storyPlaceJSON{newPlaceJSON(p), i == f.Wins})
	}
	if c := f.Commit; c != nil {
		out.Commit = &storyCommitJSON{c.Hash, c.Author, c.Time, c.Subject, c.Oldest}
	}
	return out
}

func newStoryOwner(o ownership.Entry) storyOwnerJSON {
	return storyOwnerJSON{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource, Time: o.Time}
}

func newPlaceJSON(p desired.Place) placeJSON {
	exact := p.Exact
	return placeJSON{File: p.File, Line: p.Line, Field: p.Field, Means: string(p.Means), Variable: p.Variable, Exact: &exact}
}

// blameJSON is what `truce blame` prints.
type blameJSON struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"` // Blame
	Object     storyObjectJSON `json:"object"`
	App        *keyJSON        `json:"app,omitempty"`
	Revision   string          `json:"revision,omitempty"`
	Fields     []blameLineJSON `json:"fields"` // in the order of the object as YAML
	Unknown    []string        `json:"unknown,omitempty"`
	Notes      []string        `json:"notes,omitempty"`
}

// blameLineJSON is one single value of the object, and what is known of it.
type blameLineJSON struct {
	storyFieldJSON
	From     string `json:"from,omitempty"` // what the left column says
	Evidence string `json:"evidence"`       // for From
	Verdict  string `json:"verdict,omitempty"`
}

func newBlameJSON(s explain.Subject, which explain.Which) blameJSON {
	out := blameJSON{
		APIVersion: schemaVersion, Kind: "Blame", Object: newStoryObject(s), Revision: s.Revision, Fields: []blameLineJSON{}, Unknown: s.Unknown, Notes: s.Notes,
	}
	if s.App != nil {
		key := keyJSON(s.App.Key)
		out.App = &key
	}
	for _, l := range s.Lines(which) {
		if l.Path == "" {
			continue
		}
		evidence := l.Evidence
		if evidence == "" {
			evidence = ownership.Unknown
		}
		out.Fields = append(out.Fields, blameLineJSON{*newStoryField(l.Field), l.From, string(evidence), string(l.Verdict)})
	}
	return out
}
