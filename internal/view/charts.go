package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/values"
	"github.com/truce-gitops/truce/internal/source"
)

// chartRequest is the request by which a run would render an app's chart now: with its values, and the release that is stored.
func (c *Cluster) chartRequest(ctx context.Context, artifact source.Artifact, a app.App) (render.Request, error) {
	seen := &requestRecorder{}
	looking := c.readOnly(fetchedSource{artifact: artifact})
	looking.Render, looking.Fresh = seen, seen
	if a.Suspended, a.DependsOn = false, nil; a.Policy.Mode != policy.Observe { // which takes the releases of others as they are
		a.Policy.Mode = policy.Preview
	}
	run := reconcile.NewEngine(looking, nil).App(ctx, a)
	if seen.request == nil {
		return render.Request{}, fmt.Errorf("%s: %s", run.Stage, run.Message)
	}
	return *seen.request, nil
}

// requestRecorder keeps a request, and renders nothing.
type requestRecorder struct{ request *render.Request }

var errRecorded = errors.New("the request is recorded, and not rendered")

// Render implements render.Renderer.
func (r *requestRecorder) Render(_ context.Context, q render.Request) (render.Result, error) {
	r.request = &q
	return render.Result{}, errRecorded
}

// places finds where Git writes the fields of an object: as desired.FieldOrigins, and of a chart the values that they come from.
func (c *Cluster) places(ctx context.Context, artifact source.Artifact, a app.App) func(desired.Object) func(field.Path) []desired.Place {
	a = a.AtRevision(artifact.Commit, artifact.Files)
	if len(a.Parts) > 0 {
		return c.partPlaces(ctx, artifact, a)
	}
	return c.placesAt(ctx, artifact, a)
}

// partPlaces is places for an app with several sources.
func (c *Cluster) partPlaces(ctx context.Context, artifact source.Artifact, a app.App) func(desired.Object) func(field.Path) []desired.Place {
	of := map[int]func(desired.Object) func(field.Path) []desired.Place{}
	return func(o desired.Object) func(field.Path) []desired.Place {
		i := a.PartOf(o.File)
		if i < 0 {
			return func(field.Path) []desired.Place { return nil }
		}
		if of[i] == nil {
			of[i] = c.placesAt(ctx, artifact, a.OfPart(a.Parts[i]))
		}
		return of[i](o)
	}
}

// placesAt is places for an app at its revision, with one source.
func (c *Cluster) placesAt(ctx context.Context, artifact source.Artifact, a app.App) func(desired.Object) func(field.Path) []desired.Place {
	if !isChart(artifact.Files, a) {
		return c.writtenPlaces(ctx, c.over(a, artifact.Files), a)
	}
	t := &chartTrace{cluster: c, app: a}
	t.origins = sync.OnceValue(func() []release.Origin { return t.trace(ctx, artifact) })
	t.resource = sync.OnceValue(func() object.Object { return t.custom(ctx) })
	return func(o desired.Object) func(field.Path) []desired.Place {
		return func(p field.Path) []desired.Place { return t.placesOf(ctx, o, p) }
	}
}

// writtenPlaces is places for what is no chart. Variables that may not be read are not named.
func (c *Cluster) writtenPlaces(ctx context.Context, files source.Tree, a app.App) func(desired.Object) func(field.Path) []desired.Place {
	set, err := values.ReadVariables(ctx, c.engine.Live, a.Key.Namespace, a.PostBuild)
	if err != nil || set == nil {
		return func(o desired.Object) func(field.Path) []desired.Place { return desired.FieldOrigins(files, a, o) }
	}
	return func(o desired.Object) func(field.Path) []desired.Place {
		return desired.SubstitutedOrigins(files, a, o, set)
	}
}

// isChart reports whether an app's directory is rendered as a chart.
func isChart(files source.Tree, a app.App) bool {
	if a.Release != nil || a.Chart == nil {
		return a.Release != nil
	}
	q, _, err := layout.RequestOf(files, a)
	return err == nil && q.Chart != nil
}

// chartTrace finds the values that the fields of a chart's objects come from.
type chartTrace struct {
	cluster  *Cluster
	app      app.App
	origins  func() []release.Origin // found out when the first is asked for, as this renders the chart again and again
	resource func() object.Object    // of the app; nil where it cannot be read
}

func (t *chartTrace) trace(ctx context.Context, artifact source.Artifact) []release.Origin {
	request, err := t.cluster.requestFor(ctx, artifact, t.app)
	if err != nil || request.Chart == nil {
		return nil // the run has met the same error, and its report has it
	}
	chart := *request.Chart
	chart.Trace, request.Chart = true, &chart
	res, err := t.cluster.rendered.Render(ctx, request)
	if err != nil || res.Release == nil {
		return nil
	}
	return res.Release.Origins
}

func (t *chartTrace) custom(ctx context.Context) object.Object {
	gvk, _, err := registry.AppsFor(t.app.Key)
	if err != nil {
		return nil
	}
	cr, err := t.cluster.engine.Live.Get(ctx, gvk, resourceID(gvk, t.app.Key))
	if err != nil {
		return nil
	}
	return cr
}

// placesOf is the key of the values that a field comes from, or else the template of its object.
func (t *chartTrace) placesOf(ctx context.Context, o desired.Object, p field.Path) []desired.Place {
	if o.File == "" || len(p) == 0 {
		return nil
	}
	template := desired.Place{File: o.File, Line: o.Line, Means: desired.ByTemplate}
	if steps, ok := stepsTo(map[string]any(o.Data), p); ok {
		for _, from := range t.origins() {
			if from.Group == o.ID.Group && from.Kind == o.ID.Kind && from.Name == o.ID.Name && (from.Namespace == "" || from.Namespace == o.ID.Namespace) && slices.Equal(from.Field, steps) {
				return []desired.Place{t.place(ctx, from)}
			}
		}
	}
	return []desired.Place{template}
}

func (t *chartTrace) place(ctx context.Context, o release.Origin) desired.Place {
	out := desired.Place{File: o.File, Line: o.Line, Means: desired.ByValues, Exact: true}
	switch {
	case o.File != "":
	case o.From == specValues && t.app.Release != nil:
		out.Field = fmt.Sprintf("%s %s.%s%s", t.app.Key, specValues, o.Key, t.inGit(ctx, o.Key))
	default:
		out.Field = fmt.Sprintf("%s, %s of the values", o.From, o.Key)
	}
	return out
}

// specValues are the values that the custom resource has itself.
const specValues = "spec.values"

// inGit says where the custom resource's own source has a key of its values; empty where that is not known.
func (t *chartTrace) inGit(ctx context.Context, key string) string {
	cr := t.resource()
	if cr == nil {
		return ""
	}
	parent := dialect.ParentOf(cr, t.cluster.known(ctx))
	if parent.Key == t.app.Key || parent.Key.Name == "" {
		return ""
	}
	at, err := t.cluster.describedAt(ctx, parent.Key, cr.ID(), field.NewPath(valueSteps(key)...))
	if err != nil || !at.Exact {
		return ""
	}
	return fmt.Sprintf(" (%s, of %s)", redact.MaskText(at.String()), parent.Key)
}

// valueSteps are the steps to a key of spec.values, up to the first list.
func valueSteps(key string) []string {
	key, _, _ = strings.Cut(key, "[")
	out := []string{"spec", "values"}
	const dot = "\x00"
	for step := range strings.SplitSeq(strings.ReplaceAll(key, `\.`, dot), ".") {
		out = append(out, strings.ReplaceAll(step, dot, "."))
	}
	return out
}

// stepsTo are the steps to a field as release.Origin has them; false where it is not there.
func stepsTo(v any, p field.Path) ([]string, bool) {
	var out []string
	for _, e := range p {
		next, there := field.ChildValue(v, e)
		if !there {
			return nil, false
		}
		if e.FieldName != nil {
			out = append(out, *e.FieldName)
		} else {
			list, _ := v.([]any)
			at := slices.IndexFunc(list, func(item any) bool { return field.EqualValues(item, next) })
			if at < 0 {
				return nil, false
			}
			out = append(out, strconv.Itoa(at))
		}
		v = next
	}
	return out, true
}

// layValues lays the values of the preview's file over those of a HelmRelease.
func (p Preview) layValues(a *app.App) error {
	if p.Values == "" {
		return nil
	}
	if a.Release == nil {
		return exit.WithCode(exit.Usage, fmt.Errorf("values are laid over those of a HelmRelease, and %s is none", a.Key))
	}
	over, err := readValues(p.Values)
	if err != nil {
		return exit.WithCode(exit.Usage, fmt.Errorf("read %s: %w", p.Values, err))
	}
	var own map[string]any
	if err := yaml.Unmarshal([]byte(a.Release.Inline), &own); err != nil {
		return fmt.Errorf("%s %s: %w", a.Key, specValues, err)
	}
	merged, err := json.Marshal(mergeMaps(own, over))
	if err != nil {
		return err
	}
	spec := *a.Release
	spec.Inline = string(merged)
	a.Release = &spec
	return nil
}

func readValues(name string) (map[string]any, error) {
	text, err := readInput(name)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := yaml.Unmarshal(text, &out); err != nil {
		return nil, errors.New(redact.WithoutQuoted(err.Error()))
	}
	return out, nil
}

// readInput reads a file of this machine that a command names.
func readInput(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, local.SystemCause(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, longestInput+1))
	if err != nil {
		return nil, local.SystemCause(err)
	}
	if len(text) > longestInput {
		return nil, fmt.Errorf("it is larger than %d MiB", longestInput>>20)
	}
	return text, nil
}

// longestInput bounds a file of values, or of a custom resource.
const longestInput = 16 << 20

// mergeMaps lays a map over another one, as Helm does values: maps key by key, and everything else whole.
func mergeMaps(below, over map[string]any) map[string]any {
	out := maps.Clone(below)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range over {
		was, wasMap := out[key].(map[string]any)
		is, isMap := value.(map[string]any)
		if wasMap && isMap {
			value = mergeMaps(was, is)
		}
		out[key] = value
	}
	return out
}

// releaseNotes says what a run would do about the Helm release of an app.
func (c *Cluster) releaseNotes(ctx context.Context, artifact source.Artifact, a app.App) []string {
	if a.Release == nil || artifact.Files == nil {
		return nil
	}
	request, err := c.requestFor(ctx, artifact, a.AtRevision(artifact.Commit, artifact.Files))
	if err != nil {
		return nil // the run has met the same error, and its report has it
	}
	res, err := c.rendered.Render(ctx, request)
	if err != nil || res.Release == nil {
		return nil
	}
	r, name := res.Release, a.Release.Namespace+"/"+a.Release.Name
	if r.Step == hook.Keep {
		return []string{fmt.Sprintf("release %s.v%d stays the newest one, of chart %s@%s", name, r.Revision, r.Chart, r.Version)}
	}
	made := fmt.Sprintf("release %s.v%d would be made (%s), of chart %s@%s", name, r.Revision, r.Step, r.Chart, r.Version)
	return append([]string{made}, hookNotes(*a.Release, *r)...)
}

// hookNotes says which hooks the action would run, in their order.
func hookNotes(spec release.Spec, r release.Release) []string {
	events, how := []hook.Event{hook.PreUpgrade, hook.PostUpgrade}, spec.Upgrade
	if r.Step == hook.Install {
		events, how = []hook.Event{hook.PreInstall, hook.PostInstall}, spec.Install
	}
	if how.Hooks == hook.SkipHooks {
		return nil
	}
	var out []string
	for _, event := range events {
		for _, h := range hook.HooksOf(r.Hooks, event) {
			out = append(out, fmt.Sprintf("hook %s: %s %s would run (%s, weight %d)", event, h.Object.GVK().Kind, h.Name, h.Path, h.Weight))
		}
	}
	return out
}
