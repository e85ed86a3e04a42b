package flux

import (
	"errors"
	"reflect"
	"slices"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// HelmCommands reads HelmReleases, and suspends, resumes, reconciles, adopts, releases and deletes them.
type HelmCommands struct{}

var _ dialect.Commands = HelmCommands{}

// Edit suspends, resumes, adopts, releases, requests a run, or says what becomes of the objects. Everything else of a HelmRelease is changed in Git.
func (HelmCommands) Edit(r dialect.Resources, c dialect.Change) (dialect.Resources, error) {
	if c.Pin != nil && *c.Pin != "" {
		return r, errors.New("truce does not go back to an older release of a HelmRelease, which would be upgraded again at once: revert its values, or its chart's version, in Git")
	}
	leaves := c.Leave == policy.PruneKeep
	switch {
	case leaves && isBesideFlux(r.App):
		return r, errors.New("truce uninstalls the release of a HelmRelease that it has adopted beside Flux: to keep the objects, run `truce release` first, and delete the HelmRelease while it is suspended")
	case c.Leave != "" && !isBesideFlux(r.App): // helm-controller uninstalls no release of a suspended HelmRelease
		c.Suspend = &leaves
	}
	c.Leave = ""
	e := &edit{Editor: editor.Editor{CR: r.App.Clone()}}
	other := c
	other.Suspend, other.Pin, other.Run, other.At, other.ApprovePrune, other.Way = nil, nil, nil, time.Time{}, "", ""
	if !reflect.DeepEqual(other, dialect.Change{}) {
		return r, errors.New("truce suspends, resumes, reconciles, adopts, releases and deletes a HelmRelease; change its other fields in Git, or with kubectl")
	}
	e.plan(dialect.Change{Suspend: c.Suspend})
	e.SetAdoption(c.Way, c.At)
	e.run(c.Run)
	e.Approve(c.ApprovePrune)
	return dialect.Resources{App: e.CR, Source: r.Source}, e.Err
}

// Create is not done for HelmReleases.
func (HelmCommands) Create(app.Key, dialect.Change) (dialect.Resources, error) {
	return dialect.Resources{}, errors.New("truce creates no HelmReleases: write one, and apply it")
}

// Summarize reads a HelmRelease's status back.
func (HelmCommands) Summarize(cr object.Object) dialect.Summary {
	var s helmv2.HelmReleaseStatus
	reader.DecodeStatus(cr, &s)
	t := summarize(cr, HelmReleases{}.App(cr, policy.Policy{}), s.Conditions, s.ObservedGeneration)
	t.Revision, t.History = s.LastAttemptedRevision, releaseEntries(s.History)
	if s.Inventory != nil {
		t.Objects = entries(s.Inventory.Entries)
	}
	return t
}

// releaseEntries are the releases that were applied whole, the oldest first: the IDs are Helm's revisions.
func releaseEntries(h helmv2.Snapshots) []dialect.HistoryEntry {
	var out []dialect.HistoryEntry
	for _, s := range slices.Backward(h) {
		if s != nil && (s.Status == string(hook.Deployed) || s.Status == string(hook.Superseded)) {
			out = append(out, dialect.HistoryEntry{ID: int64(s.Version), Revision: s.ChartName + "@" + s.ChartVersion, At: s.LastDeployed.Time})
		}
	}
	return out
}
