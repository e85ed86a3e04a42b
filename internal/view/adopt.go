package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/readonly"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/dialect"
	annotation "github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view/othercontroller"
)

// Adoption looks whether the other controller has let go of an app, and what truce would do with the app's objects. It writes nothing.
func (c *Cluster) Adoption(ctx context.Context, key app.Key) (Adoption, error) {
	_, translate, err := registry.AppsFor(key)
	if err != nil {
		return Adoption{}, err
	}
	there, err := c.read(ctx, key)
	if err != nil {
		return Adoption{}, err
	}
	how, err := c.process(ctx, key)
	if err != nil {
		return Adoption{}, err
	}
	out := Adoption{Way: c.app(ctx, how, translate, there.App).Adoption.Mode}
	if out.Already = out.Way == policy.TakeBeside || out.Way == policy.TakeAlone; !out.Already {
		if err := c.keptByGenerator(ctx, there.App); err != nil { // first: it takes off the very annotation that lets go
			return out, err
		}
		if out.Way, err = c.letGo(ctx, there.App, c.app(ctx, how, translate, unmoved(there.App))); err != nil {
			return out, err
		}
	}
	_, commands, err := registry.CommandsFor(key.Kind)
	if err != nil {
		return out, err
	}
	out.At = time.Now()
	change := dialect.Change{Way: out.Way, At: out.At}
	if out.Already {
		change = dialect.Change{}
	}
	after, err := commands.Edit(there, change)
	if err != nil {
		return out, err
	}
	a := c.app(ctx, how, translate, after.App)
	in, leave, err := c.inClusterOf(ctx, a)
	defer leave()
	if err != nil {
		return out, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s is not adopted: %w", key, err)}
	}
	err = in.foresee(ctx, after.App, a, how, &out)
	return out, err
}

// unmoved is a custom resource without what an earlier passage has left on it: a released app's own switch would not be seen.
func unmoved(cr object.Object) object.Object {
	out := cr.Clone()
	for _, key := range []string{annotation.ModeKey, annotation.AdoptedKey, annotation.AdoptedAtKey, annotation.LostKey} {
		if notes, ok := out.At("metadata", "annotations").(map[string]any); ok {
			delete(notes, key)
		}
	}
	return out
}

// letGo says how the other controller has let go of an app; an error names the one that has not, and how to do it.
func (c *Cluster) letGo(ctx context.Context, cr object.Object, a app.App) (policy.AdoptionMode, error) {
	refuse := func(format string, args ...any) (policy.AdoptionMode, error) {
		return "", &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s is not adopted: "+format, append([]any{a.Key}, args...)...)}
	}
	other := othercontroller.ByAppKind[a.Key.Kind]
	if len(a.Problems) > 0 {
		return refuse("truce cannot do what it asks: %s", a.Problems[0])
	}
	running, err := other.Working(ctx, c.cluster, cr, a)
	switch {
	case a.Suspended && isRunning(cr) && (err != nil || running != ""):
		return refuse("%s is in the middle of a run: try again when that has ended", other.Name)
	case a.Suspended:
		return policy.TakeBeside, nil
	case err != nil:
		return refuse("it is not known whether %s still reconciles it (%v); suspend it: %s", other.Name, err, other.Stop(a.Key))
	case running != "":
		return refuse("%s still reconciles it (%s); suspend it first: %s", other.Name, running, other.Stop(a.Key))
	}
	return policy.TakeAlone, nil
}

// endedBefore are the reasons with which a run of helm-controller ends before it begins an action: it leaves Reconciling as it was then.
var endedBefore = []string{"ValuesError", "ArtifactFailed", "SourceNotReady", "DependencyNotReady", "AccessDenied"}

// isRunning reports whether a status says that a run goes on. One that waits for its next try does not (Flux's ProgressingWithRetry), and neither does one
// that has ended before an action: while one is carried out, Ready is unknown, or has the reason of an action that has failed.
func isRunning(cr object.Object) bool {
	c, ready := conditionOf(cr, "Reconciling"), conditionOf(cr, "Ready")
	ended := c.reason == "ProgressingWithRetry" || ready.status == "False" && slices.Contains(endedBefore, ready.reason)
	return c.status == "True" && !ended || cr.StringAt("status", "operationState", "phase") == "Running"
}

// foresee is what the controller would do about an app that is adopted: what differs would be changed, what others have applied and Git
// does not name would be removed, and what the other has put there and Git does not name would be pruned. The adoption is asked for not before the newest
// write of the other's: the clock of the API server may be ahead of ours.
func (c *Cluster) foresee(ctx context.Context, cr object.Object, a app.App, how controllerSettings, out *Adoption) (err error) {
	a.Policy.Mode = policy.Preview
	if a, err = c.engine.Tracked(ctx, a); err != nil {
		return err
	}
	f := fetchedSource{}
	f.artifact, f.err = c.fetch(ctx, a, cr)
	engine, err := c.onlyLooking(ctx, f, &how, a)
	if err != nil {
		return err
	}
	out.Detail = Detail{App: a, Report: engine.App(ctx, a), Origin: c.origins(ctx, f.artifact, a)}
	d := &out.Detail
	d.Report.Notes = append(d.Report.Notes, how.notes...)
	if d.Report.Stage != report.Done && d.Report.Stage != report.Apply {
		return &exit.Error{Code: exit.Render, Err: fmt.Errorf("%s is not adopted: %s", a.Key, d.Report.Stop())}
	}
	set, err := c.settled(ctx, f.artifact, a)
	if err != nil {
		return &exit.Error{Code: exit.Render, Err: err}
	}
	wanted := map[object.ID]object.Object{}
	for _, o := range set.Objects {
		wanted[o.ID] = o.Data
	}
	for i := range d.Report.Objects {
		o := &d.Report.Objects[i]
		in, err := c.adoptable(ctx, a, *o, wanted[o.ID])
		if err != nil {
			return err
		}
		if at := lastWritten(in); at.After(out.At) {
			out.At = at
		}
		c.foreseeOne(ctx, o, in)
	}
	others := maps.Clone(a.Adoption.Inventory)
	if others == nil {
		others = map[object.ID]string{}
	}
	for _, o := range d.Report.Inherited {
		others[o.ID] = o.Version
	}
	if d.Leaving, err = c.inherited(ctx, a, others, wanted); err != nil || out.Already {
		return err
	}
	return c.refuseWithoutRights(ctx, how, d, adoptionWrites(*d, set, others))
}

// adoptable is one object as its adoption is judged. Nothing is live where it is not there.
func (c *Cluster) adoptable(ctx context.Context, a app.App, o report.Object, want object.Object) (decide.Input, error) {
	in := decide.Input{Desired: want, Adoption: a.Adoption}
	there, err := c.objects().Live.Get(ctx, object.GVK{Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind}, o.ID)
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		return in, nil
	}
	owners, entriesErr := ownership.Entries(there)
	if err = errors.Join(err, entriesErr); err != nil {
		return in, fmt.Errorf("read %s: %w", o.ID, err)
	}
	in.Live, in.Owners = there, owners
	return in, nil
}

// lastWritten is when the other controller wrote an object last; zero where no entry of it has a time.
func lastWritten(in decide.Input) (newest time.Time) {
	for _, o := range in.Owners {
		if o.Writes(in.Adoption.Manager) && o.Time.After(newest) {
			newest = o.Time
		}
	}
	return newest
}

// foreseeOne changes what an object's report says to what the adoption of its fields brings about. Whose they are is not worth saying: they
// become truce's. Neither are truce's own label, and the marks of the other's that stay.
func (c *Cluster) foreseeOne(ctx context.Context, o *report.Object, in decide.Input) {
	mark := field.NewPath("metadata", "labels", desired.PartOf)
	o.Findings = slices.DeleteFunc(o.Findings, func(f report.Finding) bool {
		return f.Path.Equals(mark) || f.Verdict == decide.Reclaim || slices.ContainsFunc(in.Adoption.Keep, f.Path.Equals)
	})
	if in.Live == nil {
		return
	}
	if _, another := in.Adoption.OwnerOf(in.Live); another != "" {
		o.Problem = "it is another app's (" + another + "): not adopted"
		return
	}
	entries, _ := in.Live.At("metadata", "managedFields").([]any)
	if _, err := (ownership.Managed{Fields: entries, APIVersion: in.Live.APIVersion()}).Adopt(in.AdoptedEntries(), nil); err != nil {
		o.Problem = err.Error()
		return
	}
	for _, path := range c.takenAway(ctx, in) {
		value, _ := field.ValueAt(in.Live, path)
		o.Findings = slices.DeleteFunc(o.Findings, func(f report.Finding) bool { return field.HasPrefix(f.Path, path) && len(f.Path) > 0 })
		o.Findings = append(o.Findings, report.Finding{
			Path: path, Kind: compare.Extra, Live: c.engine.Mask.Value(o.ID, path, value), Writer: ownership.WriterOf(in.Owners, path),
			Verdict: decide.Correct, Reason: "Git does not name it: the first apply takes it away",
		})
	}
}

// takenAway are the fields that the first apply takes away: not those that the server puts there by itself, which Flux sends for some kinds. Where it
// answers no dry run, all that others have applied and Git does not name.
func (c *Cluster) takenAway(ctx context.Context, in decide.Input) []field.Path {
	all := decide.Adopted(in)
	var found []compare.Addition
	for _, p := range all {
		found = append(found, compare.Addition{Path: p})
	}
	if len(found) == 0 {
		return nil
	}
	t := apply.Target{GVK: in.Live.GVK(), ID: in.Live.ID(), UID: in.Live.UID(), ResourceVersion: in.Live.ResourceVersion()}
	real, err := reconcile.ProbeAdditions(ctx, readonly.Writer{Writer: c.objects().Writer}, t, in.Live, found)
	if err != nil {
		return all
	}
	var out []field.Path
	for _, a := range real {
		out = append(out, a.Path)
	}
	return out
}

// inherited lists the objects of all that the other controller, or helm, has put there for the app, and that Git no longer names.
func (c *Cluster) inherited(ctx context.Context, a app.App, all map[object.ID]string, wanted map[object.ID]object.Object) ([]object.ID, error) {
	var out []object.ID
	for id, version := range all {
		if wanted[id] != nil || !a.Prunes() {
			continue
		}
		o, err := c.objects().Live.Get(ctx, object.GVK{Group: id.Group, Version: version, Kind: id.Kind}, id)
		if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", id, err)
		}
		if a.Inherits(o) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out, nil
}
