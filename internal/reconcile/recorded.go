package reconcile

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/basis"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// recordedRender is what an inventory says of the render of which its entries are. With it, a process that has just started need not render an
// app of which nothing has changed: neither what a render depends on, nor any object. Such an app is rendered when an object of it is to be compared.
type recordedRender struct {
	Basis  basis.Basis     `json:"basis"`
	Places []recordedPlace `json:"objects"` // of the inventory's entries, in their order
}

// recordedPlace is what a report has of an object besides its entry.
type recordedPlace struct {
	File   string   `json:"f"`
	Line   int      `json:"l"`
	Wave   int      `json:"w,omitempty"`
	Images []string `json:"i,omitempty"` // a field and the image that it names, in turn
}

// String is the form in the inventory: JSON, compressed to a tenth, since paths repeat. Empty for what cannot be written.
func (r recordedRender) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	var packed bytes.Buffer
	w := recordCompressors.Get().(*flate.Writer)
	defer recordCompressors.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(text); err != nil {
		return ""
	}
	if err := w.Close(); err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(packed.Bytes())
}

// recordCompressors are used again: one takes more than a megabyte, and each run of an app needs one for a moment.
var recordCompressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is one of flate's
	}
	return w
}}

// mostRecorded bounds what a text unpacks to: what is longer was not written by truce.
const mostRecorded = 64 << 20

// parseRecorded reads what String prints.
func parseRecorded(text string) (r recordedRender, err error) {
	packed := flate.NewReader(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(text)))
	err = json.NewDecoder(io.LimitReader(packed, mostRecorded)).Decode(&r)
	return r, errors.Join(err, packed.Close())
}

// mayBeRecorded reports whether a render of the app may be known from its inventory: it depends on nothing but files and what the custom resource says, and
// a run about it does nothing but to keep what is there.
func (r *appRun) mayBeRecorded() bool {
	a := r.asked
	return r.engine.Watches != nil && r.app.Policy.Mode == policy.Enforce && a.Release == nil && len(a.Parts) == 0 && !a.Decryption.IsSet() &&
		a.Adoption.Mode != policy.HandBack && !a.Deleting && a.SyncRequest.Token == "" && !r.purpose.comparesOnly()
}

// dependsOn is what the app's objects depend on besides the files and the request; empty where that is not known.
func (e *Engine) dependsOn(a app.App) string {
	digest := a.LastingDigest()
	if digest == "" {
		return ""
	}
	return e.Build + "\n" + digest
}

// recognize takes the app's objects from its inventory where a render would give them, and all of them are as an earlier process has found them to be
// as Git wants. It reports whether it has.
func (r *appRun) recognize(ctx context.Context) (bool, error) {
	if !r.mayBeRecorded() || r.purpose == rollingOut && r.asked.Rollout == app.IfChanged || r.engine.isRendered(r.state) {
		return false, nil
	}
	if err := r.lockedLoad(ctx); err != nil {
		return false, err
	}
	was, ok := r.recorded()
	if !ok || !r.areSettled(ctx) {
		return false, nil
	}
	objects := make([]desired.Object, len(was.Places))
	var images []overlay.Container
	r.rendered = rendering{recorded: true, named: map[object.ID]bool{}}
	for i, p := range was.Places {
		entry := r.inventory.Entries[i]
		objects[i] = desired.Object{ID: entry.ID, GVK: entryGVK(entry), File: p.File, Line: p.Line, SyncWave: p.Wave, Digest: entry.Sent, Wave: desired.WaveOfKind(entryGVK(entry))}
		for n := 0; n+1 < len(p.Images); n += 2 {
			images = append(images, overlay.Container{ID: entry.ID, Field: internString(p.Images[n]), Image: p.Images[n+1]})
		}
		r.rendered.named[entry.ID] = true
	}
	r.rendered.images = images
	r.set = desired.Set{Objects: objects}
	r.set.Sort()
	r.built = r.set.Digest(r.sourcesOfSecrets())
	r.state.mu.Lock()
	r.state.basis = was.Basis
	r.state.mu.Unlock()
	return true, nil
}

// recorded is what the app's inventory says of its render, if a render would give the same.
func (r *appRun) recorded() (was recordedRender, ok bool) {
	if r.inventory.Rendered == "" {
		return was, false
	}
	was, err := parseRecorded(r.inventory.Rendered)
	if err != nil || len(was.Places) != len(r.inventory.Entries) { // another version has written it
		return was, false
	}
	q := r.request
	q.Files = r.artifact.Files
	return was, was.Basis.Holds(q, r.engine.dependsOn(r.asked))
}

// entryGVK is the type that Git last named an entry's object in.
func entryGVK(e inventory.Entry) object.GVK {
	return object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}
}

// areSettled reports whether all objects of the inventory are as it says that they were found to be as Git wants.
func (r *appRun) areSettled(ctx context.Context) bool {
	type place struct {
		gvk       object.GVK
		namespace string
	}
	watched := map[place]bool{}
	for _, entry := range r.inventory.Entries {
		if at := (place{entryGVK(entry), entry.ID.Namespace}); !watched[at] {
			if err := r.ensure(ctx, at.gvk, at.namespace); err != nil {
				return false // the run that renders says so
			}
			watched[at] = true
		}
	}
	shown := r.engine.early.peek(desired.PartOfValue(r.app.Key))
	for _, entry := range r.inventory.Entries {
		if rec := r.engine.lookup(entry.ID); rec != nil {
			if !rec.isSettledFor(r.app.Key) {
				return false
			}
			continue
		}
		u := shown[entry.ID]
		if u == nil || entry.Sent == "" || entry.UID == "" || !u.shows(entry) || r.engine.hasClaimant(entry.ID) {
			return false
		}
	}
	return true
}

// shows reports whether an event shows an object as it was found to be as Git wants.
func (s *pendingEvent) shows(entry inventory.Entry) bool {
	was := unchanged.ParseState(entry.Judged)
	return !was.IsZero() && !s.Gone && s.GVK == entryGVK(entry) && s.Depth == live.DepthOf(s.GVK) && s.uid == entry.UID && s.settled() == was
}

// isSettledFor reports whether the object is an app's, and known to be as Git wants.
func (r *managedObject) isSettledFor(key app.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner == key && r.settledAs() != "" && !r.forced && !r.awaitsWave && r.state.phase == applied
}

// recordRender prepares what the inventory is to say of the render, when the set is whole and its claims are known.
func (r *appRun) recordRender(context.Context) error {
	if !r.rendered.recorded {
		r.toRecord = r.describeRender()
	}
	r.rendered.reads = nil
	return nil
}

// describeRender is what recognize needs to know of the render; empty where there is more to know of its objects, or what it depends on is not known.
func (r *appRun) describeRender() string {
	s := r.set
	aside := len(s.Hooks) + len(s.Skipped) + len(s.Repeated) + len(s.Nameless) + len(s.Homeless) + len(r.problems)
	if !r.mayBeRecorded() || aside > 0 || r.secrets != nil || r.rendered.momentary || len(r.report.Notes) > len(r.asked.Notes) || r.engine.declares(r.app.Key) {
		return ""
	}
	if slices.ContainsFunc(s.Objects, r.asksForMore) {
		return ""
	}
	q := r.request
	q.Files = r.artifact.Files
	based, err := basis.FromReads(q, r.rendered.reads, r.engine.dependsOn(r.asked))
	if err != nil || !based.IsKnown() {
		return ""
	}
	images := map[object.ID][]string{}
	for _, c := range r.rendered.images {
		images[c.ID] = append(images[c.ID], c.Field, c.Image)
	}
	now := recordedRender{Basis: based, Places: make([]recordedPlace, 0, len(s.Objects))}
	for _, o := range slices.SortedFunc(slices.Values(s.Objects), func(a, b desired.Object) int { return a.ID.Compare(b.ID) }) {
		now.Places = append(now.Places, recordedPlace{o.File, o.Line, o.SyncWave, images[o.ID]})
	}
	return now.String()
}

// asksForMore reports whether an object asks for another treatment than to be kept as Git has it, or has no digest.
func (r *appRun) asksForMore(o desired.Object) bool {
	t := r.app.OptOuts.Of(o.Data, nil)
	return o.Digest == "" || o.Definition || t.Effect != "" || t.Mark != "" || t.Recreate != "" || len(t.Remarks) > 0 ||
		r.engine.PruneRules.ConfirmationOf(o.Data) != (optout.Confirmation{})
}

// renderedAs is what the record says of the render of its entries.
func (r *appRun) renderedAs(next inventory.Record) string {
	switch {
	case r.rendered.recorded:
		return r.inventory.Rendered
	case len(r.problems) > 0 || len(next.Entries) != len(r.rendered.named):
		return ""
	}
	return r.toRecord
}

// errAwaitsRender ends a run that has found an object to be compared, and has not rendered what Git wants of it: the next one does.
var errAwaitsRender = &stageError{report.InProgress, errors.New("an object is to be compared: the app is rendered first")}

// isRendered reports whether it is known of an app's objects, beyond their digests, what Git wants of them.
func (e *Engine) isRendered(s *appState) bool {
	for _, id := range s.objects() {
		if r := e.lookup(id); r != nil && r.hasText() {
			return true
		}
	}
	return false
}

func (r *managedObject) hasText() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Known()
}

// setRecorded takes in what the inventory says of an object that is not rendered.
func (r *managedObject) setRecorded(o desired.Object, owner app.Key, last inventory.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner, r.served, r.file, r.line, r.wave = owner, internString(o.GVK.Version), o.File, shorten(o.Line), shorten(o.SyncWave)
	if r.state.isDescribed() {
		return
	}
	r.state.describe(true)
	r.uid, r.appliedUID, r.found, r.digest = last.UID, last.UID, last.Found, o.Digest
	r.settled, r.expires = unchanged.ParseState(last.Judged), last.Expires
}
