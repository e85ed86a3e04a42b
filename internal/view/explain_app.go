package view

import (
	"context"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
)

// objectOwner is by which app an object is kept.
type objectOwner struct {
	cr     object.Object // nil for none
	others []app.Key     // that name the object, too
	orphan string        // the mark on the object, where no app was found
}

// keptBy finds the app by the object's mark and by what the apps' statuses list. Of those that list nothing yet the first few are
// rendered.
func (t *explanation) keptBy(ctx context.Context, id object.ID, o object.Object) (objectOwner, error) {
	apps, err := t.apps(ctx)
	if err != nil {
		return objectOwner{}, err
	}
	var k objectOwner
	mark, _ := o.Label(object.PartOf)
	best := 0
	var silent []object.Object
	for _, cr := range apps {
		list := registry.Commands()[cr.GVK()].Summarize(cr).Objects
		listed := slices.ContainsFunc(list, func(l dialect.ListedObject) bool { return l.ID == id })
		score := 0
		if mark != "" && desired.PartOfValue(appKeyOf(cr)) == mark {
			score += 2
		}
		if listed {
			score++
		}
		if len(list) == 0 {
			silent = append(silent, cr)
		}
		if score > best {
			best, k.cr = score, cr
		}
		if listed {
			k.others = append(k.others, appKeyOf(cr))
		}
	}
	if k.cr == nil {
		k.cr = t.rendering(ctx, id, silent)
	}
	if k.cr == nil {
		k.orphan = mark
		return k, nil
	}
	k.others = slices.DeleteFunc(k.others, func(key app.Key) bool { return key == appKeyOf(k.cr) })
	return k, nil
}

// leaveOut keeps an app whose objects are in another cluster apart: an object of this one is none of them, whatever its name.
func (t *explanation) leaveOut(cr object.Object) bool {
	yes := isElsewhere(cr)
	if yes {
		t.unknown("Objects of apps with spec.kubeConfig: they are in other clusters, and those are looked into for an object that is not in this one.")
		t.elsewhere = append(t.elsewhere, cr)
	}
	return yes
}

// apps lists the custom resources of all apps; who may list them in one namespace only finds those.
func (t *explanation) apps(ctx context.Context) ([]object.Object, error) {
	var out []object.Object
	for gvk := range registry.AppDialects() {
		found, err := t.engine.Live.List(ctx, live.Interest{GVK: gvk})
		if apierrors.IsForbidden(err) {
			t.unknown(fmt.Sprintf("Apps of kind %s outside of namespace %s: you may not list them.", gvk.Kind, t.question.Namespace))
			found, err = t.engine.Live.List(ctx, live.Interest{GVK: gvk, Namespace: t.question.Namespace})
		}
		if errors.Is(err, live.ErrUnknownKind) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list apps: %w", err)
		}
		out = append(out, slices.DeleteFunc(found, t.leaveOut)...)
	}
	slices.SortFunc(out, func(a, b object.Object) int { return a.ID().Compare(b.ID()) })
	return out, nil
}

// How many apps are rendered only to find out whether they describe an object, and within which time.
const (
	mostRendered    = 10
	renderingWithin = 30 * time.Second
)

// rendering finds the app that describes an object among those whose inventory is not known.
func (t *explanation) rendering(ctx context.Context, id object.ID, apps []object.Object) object.Object {
	ctx, cancel := context.WithTimeout(ctx, renderingWithin)
	defer cancel()
	if len(apps) > mostRendered {
		t.unknown(fmt.Sprintf("%d apps that have not run yet were not looked into.", len(apps)-mostRendered))
		apps = apps[:mostRendered]
	}
	for _, cr := range apps {
		set, err := t.describedOf(ctx, cr)
		if err != nil {
			t.unknown(fmt.Sprintf("Whether %s describes it: %s.", appKeyOf(cr), redact.MaskText(err.Error())))
			continue
		}
		if _, ok := describedIn(set, id); ok {
			return cr
		}
	}
	return nil
}

// describedOf is what an app describes, or why the controller does not run it.
func (t *explanation) describedOf(ctx context.Context, cr object.Object) (desired.Set, error) {
	how, err := t.process(ctx, appKeyOf(cr))
	if err != nil {
		return desired.Set{}, err
	}
	a := t.app(ctx, how, registry.AppDialects()[cr.GVK()], cr)
	if err := refusal(a); err != nil {
		return desired.Set{}, err
	}
	set, _, err := t.described(ctx, a, cr)
	return set, err
}

func describedIn(set desired.Set, id object.ID) (desired.Object, bool) {
	i := slices.IndexFunc(set.Objects, func(o desired.Object) bool { return o.ID == id })
	if i < 0 {
		return desired.Object{}, false
	}
	return set.Objects[i], true
}

// oneObjectRenderer renders one object of all.
type oneObjectRenderer struct {
	render.Renderer
	id object.ID
}

// Render implements render.Renderer. An object that names no namespace may come to be the one.
func (o oneObjectRenderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	out, err := o.Renderer.Render(ctx, r)
	out.Objects = slices.DeleteFunc(out.Objects, func(x render.Object) bool {
		id := x.Data.ID()
		return id.Kind != o.id.Kind || id.Group != o.id.Group || id.Name != o.id.Name
	})
	return out, err
}

// walk does for one object what inspect does for a whole app. What stops it is in the Subject.
func (t *explanation) walk(ctx context.Context, cr object.Object) error {
	s := &t.subject
	how, err := t.process(ctx, appKeyOf(cr))
	if err != nil {
		return err
	}
	s.Notes = how.notes
	translate := registry.AppDialects()[cr.GVK()]
	a := t.app(ctx, how, translate, cr)
	s.App = &a
	if err := refusal(a); err != nil {
		a.Source = translate.App(cr, how.policy).Source // to be shown only
		t.stopped(report.Admit, report.AccessDenied, err)
		return nil
	}
	f := fetchedSource{}
	var spec source.Spec // of the only source
	if len(a.Parts) > 0 {
		f.artifact, f.err = t.fetch(ctx, a, cr)
	} else {
		f.artifact, spec, f.err = t.fetchSource(ctx, a.Source, cr)
	}
	if f.err != nil {
		t.stopped(report.Fetch, report.SourceNotReady, f.err)
		return nil
	}
	s.Revision = f.artifact.Revision
	a = a.AtRevision(f.artifact.Commit, f.artifact.Files)
	set, err := t.settled(ctx, f.artifact, a)
	if err != nil {
		t.stopped(report.Render, report.RenderFailed, err)
		return nil
	}
	want, ok := describedIn(set, s.ID)
	if !ok {
		s.Stage = report.Done
		return t.left(ctx)
	}
	t.mask = t.mask.With(want.Sensitive)
	s.Live = t.mask.ShowFields(s.Live.Object())
	s.Git, s.Places = t.mask.ShowFields(want.Data), t.places(ctx, f.artifact, a)(want)
	s.Found.File, s.Found.Line = want.File, want.Line
	if err := t.judged(ctx, f, how); err != nil {
		return err
	}
	if t.gvk = want.GVK; t.gvk.Version != s.Version || s.Live == nil {
		if err := t.look(ctx); err != nil {
			return err
		}
	}
	for _, p := range a.Parts {
		s.Notes = append(s.Notes, fmt.Sprintf("%s is %s (%s)", p.Dir, p.Source, p.Field))
	}
	t.blamed(ctx, cr, spec, f.artifact)
	return nil
}

// unknown notes once what is not known, and why.
func (t *explanation) unknown(text string) {
	if !slices.Contains(t.subject.Unknown, text) {
		t.subject.Unknown = append(t.subject.Unknown, text)
	}
}

// stopped says that the look at the app ended before anything was compared.
func (t *explanation) stopped(at report.Stage, why report.Reason, err error) {
	t.subject.Stage, t.subject.Reason = at, why
	t.unknown("What Git wants: " + redact.MaskText(err.Error()) + ".")
}

// left finds out whether a run would prune the object.
func (t *explanation) left(ctx context.Context) error {
	s := &t.subject
	saved, err := t.engine.Inventory.Load(ctx, s.App.Key)
	if err != nil {
		return err
	}
	for _, e := range saved.Entries {
		s.Leaving = s.Leaving || e.ID == s.ID && s.App.Prune != policy.PruneKeep
	}
	return nil
}

// judged runs the stages for the one object, without writing.
func (t *explanation) judged(ctx context.Context, f fetchedSource, how controllerSettings) error {
	s := &t.subject
	engine, err := t.onlyLooking(ctx, f, &how, *s.App)
	s.Notes = how.notes
	if err != nil {
		t.unknown("What differs, and whose it is: " + redact.MaskText(err.Error()) + ".")
		s.Stage, s.Reason = report.Apply, report.ClusterFailed // nothing was compared
		return nil
	}
	engine.Render, engine.Fresh = oneObjectRenderer{engine.Render, s.ID}, oneObjectRenderer{engine.Fresh, s.ID}
	asked := *s.App
	asked.Suspended = false
	if asked.Policy.Mode == policy.Enforce {
		asked.Policy.Mode = policy.Preview
	}
	d := Detail{App: *s.App, Report: engine.App(ctx, asked), Origin: func(object.ID, field.Path) desired.Place { return desired.Place{} }}
	holdCorrections(d.Report, waitsFor(*s.App, Preview{}))
	s.Stage, s.Reason = d.Report.Stage, d.Report.Reason
	if d.Report.Message != "" {
		t.unknown(fmt.Sprintf("The look at the app ended: %s.", d.Report.Stop()))
	}
	if err := t.fought(ctx, &d, engine); err != nil {
		return err
	}
	for _, o := range d.Report.Objects {
		if o.ID == s.ID {
			s.Found = o
		}
	}
	return nil
}

// historyWithin is how long git is asked for commits; a first look at a large repository elsewhere takes that long.
const historyWithin = 20 * time.Second

// blamed asks git who last touched the lines that are shown.
func (t *explanation) blamed(ctx context.Context, cr object.Object, only source.Spec, a source.Artifact) {
	s := &t.subject
	ctx, cancel := context.WithTimeout(ctx, historyWithin)
	defer cancel()
	s.Commits = map[explain.Spot]explain.Commit{}
	for file, lines := range t.spots() {
		of, commit, name := s.App.OfFile(file), a.Commit, file
		spec, err := only, error(nil)
		if i := s.App.PartOf(file); i >= 0 {
			_, spec, err = t.fetchSource(ctx, of.Source, cr)
			commit, name = a.Included[i].Commit, strings.TrimPrefix(file, s.App.Parts[i].Dir+"/")
		}
		if err == nil && spec.Kind != source.Git {
			t.unknown("Which commits touched the lines: " + of.Source.Kind + " has no history.")
			continue
		}
		var changes map[int]git.Change
		if err == nil {
			changes, err = t.git.History(ctx, spec, git.Lines{Commit: commit, File: name, Lines: lines})
		}
		if err != nil {
			t.unknown(fmt.Sprintf("Which commit touched %s last: %s.", file, redact.MaskText(err.Error())))
			continue
		}
		for n, c := range changes {
			s.Commits[explain.Spot{File: file, Line: n}] = explain.Commit{Hash: c.Commit, Author: c.Author, Subject: c.Subject, Time: c.Time, Oldest: c.Oldest}
		}
	}
}

// spots are the lines whose commits are shown, by file.
func (t *explanation) spots() map[string][]int {
	var all []explain.Spot
	if t.question.Reach == explain.ReachLines {
		all = t.subject.LinedSpots()
	} else {
		path, err := t.subject.Locate(t.question.Path)
		if err != nil {
			return nil // the command says what is wrong with it
		}
		all = t.subject.Spots(path)
	}
	out := map[string][]int{}
	for _, s := range all {
		if s.File != "" && s.Line > 0 && !slices.Contains(out[s.File], s.Line) {
			out[s.File] = append(out[s.File], s.Line)
		}
	}
	return out
}
