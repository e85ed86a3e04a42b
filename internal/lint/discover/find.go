package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/joined"
	"github.com/truce-gitops/truce/internal/source"
)

// FindApps looks for all apps in a tree, and renders them. An app is found where it is written, and among what other apps describe: there it
// may be written otherwise, as an overlay has it. The only error is that ctx has ended, or that there is no tree.
func FindApps(ctx context.Context, files source.Tree, o Options) (Discovery, error) {
	if _, err := fs.Stat(files, "."); err != nil {
		return Discovery{}, err
	}
	t := &finder{
		Options: o, files: files, scan: &scan{files: files, ignored: o.Ignored, asked: o.Directory}, pages: map[string]scannedFile{},
		known: map[string]*wanted{}, ownForms: map[string]int{}, unread: map[string]unread{}, repositories: map[app.SourceKey][]document{},
	}
	t.scan.modules = submodules(files)
	t.scan.walk(".")
	t.roots = newRoots(files, t.scan.dirs)
	if err := t.read(ctx); err != nil {
		return Discovery{}, err
	}
	if err := t.all(ctx); err != nil {
		return Discovery{}, err
	}
	t.sweep()
	t.plain()
	return t.discovery(), nil
}

// noDirectory ends what is said of an app whose path is not in the tree.
const noDirectory = ", and there is no such directory"

// finder is one Take.
type finder struct {
	Options
	files source.Tree
	scan  *scan
	roots *roots
	pages map[string]scannedFile // by file

	wanted       []*wanted
	known        map[string]*wanted // by place and form
	ownForms     map[string]int     // by file and line: the forms that an earlier form has led to
	repositories map[app.SourceKey][]document
	unread       map[string]unread // by place and name
	own          ownAddresses

	values     map[object.ID][]valuesObject // ConfigMaps and Secrets that are known
	valuesRead bool                         // those of the files are among them

	mu       sync.Mutex
	rendered int
}

// wanted is a unit that was found.
type wanted struct {
	unit    Unit
	digest  string    // of its custom resource
	written bool      // it stands in a file in this form
	origin  *wanted   // what has described it first; nil where it was found in its file first
	by      []*wanted // what describes its custom resource
	done    bool
	kept    bool
}

func (t *finder) kind(gvk object.GVK) (Kind, bool) {
	i := slices.IndexFunc(t.Kinds, func(k Kind) bool { return k.Group == gvk.Group && k.Kind == gvk.Kind })
	if i < 0 {
		return Kind{}, false
	}
	return t.Kinds[i], true
}

// all renders what is found until nothing more is.
func (t *finder) all(ctx context.Context) error {
	t.meetWritten()
	for {
		next := t.ready()
		if len(next) == 0 {
			next = t.bareRoots()
		}
		if len(next) == 0 {
			next = t.releases()
		}
		if len(next) == 0 {
			return nil
		}
		if err := t.render(ctx, next); err != nil {
			return err
		}
		for _, w := range next {
			for _, o := range w.unit.Objects {
				t.keepValues(o.Data, valuesObject{file: o.File, by: w})
				t.meet(document{file: o.File, line: o.Line, object: o.Data}, w)
			}
		}
	}
}

func (t *finder) meetWritten() {
	for _, d := range t.scan.dirs {
		for _, name := range d.manifests {
			for _, doc := range t.pages[name].documents {
				t.meet(doc, nil)
			}
		}
	}
}

// meet takes note of a custom resource that asks for something: written in a file (by is nil), or described by a unit.
func (t *finder) meet(d document, by *wanted) {
	gvk := d.object.GVK()
	if isRepository(gvk) {
		key := app.SourceKey{Kind: gvk.Kind, Namespace: d.object.Namespace(), Name: d.object.Name()}
		t.repositories[key] = append(t.repositories[key], d)
		return
	}
	k, ok := t.kind(gvk)
	switch {
	case !ok:
	case k.Apps == nil:
		all, why := t.expand(d, k)
		t.leave(d, k.Dialect, by, why)
		for i := range all {
			t.meet(document{d.file, d.line, all[i].Object, &all[i]}, by)
		}
	default:
		t.want(d, k, by)
	}
}

// expand lists what a custom resource describes in its turn, or says why that is not known.
func (t *finder) expand(d document, k Kind) (all []Made, why string) {
	if k.Sets == nil {
		return nil, "not looked into yet"
	}
	all, err := k.Sets.Expand(d.object, visible{t.files, t.Ignored}, t)
	if err != nil {
		return nil, "not looked into: " + err.Error()
	}
	return all, ""
}

func (t *finder) want(d document, k Kind, by *wanted) {
	digest := desired.ObjectDigest(d.object)
	key := placeOf(d) + digest
	w := t.known[key]
	if w == nil {
		if t.isEndless(d, by) {
			t.leaveEndless(d, k.Dialect)
			return
		}
		w = &wanted{digest: digest, origin: by, unit: Unit{Dialect: k.Dialect, App: t.app(d, k), Resource: d.object, Made: d.made, File: d.file, Line: d.line}}
		t.known[key] = w
		t.wanted = append(t.wanted, w)
	}
	if by == nil {
		w.written = true
	} else if !slices.Contains(w.by, by) {
		w.by = append(w.by, by)
	}
}

// app reads a custom resource. The revision is empty: a working tree has none.
func (t *finder) app(d document, k Kind) app.App {
	const digits = 40
	return t.placeCharts(k.Apps.App(d.object, policy.Policy{}), d.object).AtRevision(strings.Repeat("0", digits), t.files)
}

// ready are the apps that can be rendered now. Those whose GitRepository nothing has described yet come after all others, since one of these
// may describe it.
func (t *finder) ready() []*wanted {
	t.locate()
	var sure, guessed []*wanted
	for _, w := range t.wanted {
		switch {
		case w.done || w.unit.App.Release != nil || t.elsewhere(w).Why != "":
		case slices.ContainsFunc(t.addresses(w.unit.App), t.isTaken):
			sure = append(sure, w)
		default:
			guessed = append(guessed, w)
		}
	}
	if len(sure) > 0 {
		return sure
	}
	return guessed
}

// bareRoots are the roots that nothing covers that is known by now. A custom resource that a kustomization names is most likely not an app in
// the form in which it stands in its file, until something has described it so.
func (t *finder) bareRoots() []*wanted {
	cover := t.cover(func(w *wanted) bool { return w.done && (len(w.by) > 0 || !t.roots.named[w.unit.File]) })
	var out []*wanted
	for _, r := range t.roots.entries() {
		key := "root " + r.dir
		if t.known[key] != nil || r.component || cover.root(r) {
			continue
		}
		w := &wanted{unit: Unit{Dialect: Bare, App: app.App{Key: app.Key{Name: r.dir}, Path: r.dir}, File: r.file, Line: 1}}
		t.known[key] = w
		t.wanted = append(t.wanted, w)
		out = append(out, w)
	}
	return out
}

func (t *finder) render(ctx context.Context, next []*wanted) error {
	total := t.rendered + len(next)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, t.Workers))
	for _, w := range next {
		t.placeRelease(w)
		w.unit.Values, w.unit.Chart = t.substitution(w), t.chart(w)
		w.unit.ChartDirs = t.chartDirs(w.unit.App)
	}
	for _, w := range next {
		group.Go(func() error {
			w.unit.Err = t.unit(ctx, &w.unit)
			t.reportProgress(total)
			return ctx.Err()
		})
	}
	for _, w := range next {
		w.done = true
	}
	return group.Wait()
}

func (t *finder) reportProgress(total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rendered++
	if t.Progress != nil {
		t.Progress.Rendered(t.rendered, total)
	}
}

func (t *finder) unit(ctx context.Context, u *Unit) error {
	for _, dir := range u.Paths() {
		if info, err := fs.Stat(t.files, dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() && !t.isPackaged(u.App, dir) {
			return fmt.Errorf("it is read at %s%s", dir, noDirectory)
		}
	}
	request, err := u.Request(t.files)
	if err != nil {
		return err
	}
	result, err := joined.Renderer{Each: t.Render}.Render(ctx, request)
	if err != nil {
		return err
	}
	u.Reads = t.contents(result.Reads)
	if u.Objects, u.Repeated, err = namespacedObjects(result.Objects, u.App); err != nil {
		return err
	}
	u.Answers, err = t.answers(ctx, u)
	return err
}

// answers asks what the jq expressions of ignore rules select. Why one has no answer is in its place.
func (t *finder) answers(ctx context.Context, u *Unit) (map[object.ID]map[string]ignore.Answer, error) {
	if t.Queries == nil || len(u.App.Ignore.AllQueries()) == 0 {
		return nil, nil
	}
	out := map[object.ID]map[string]ignore.Answer{}
	for _, o := range u.Objects {
		asked := u.App.Ignore.Queries(o.Data)
		if len(asked) == 0 {
			continue
		}
		var err error
		if out[o.ID], err = t.Queries.Select(ctx, asked, o.Data, nil); err != nil {
			return nil, fmt.Errorf("jq: %w", err)
		}
	}
	return out, nil
}

// contents are the files whose bytes were read: to find nothing at a path is reading, too.
func (t *finder) contents(reads []render.Read) []string {
	var out []string
	for _, r := range reads {
		if r.Access != render.AccessContent {
			continue
		}
		if info, err := fs.Stat(t.files, r.Path); err == nil && !info.IsDir() {
			out = append(out, r.Path)
		}
	}
	return slices.Compact(out)
}

func placeOf(d document) string {
	return strings.Join([]string{d.file, strconv.Itoa(d.line), d.object.ID().String(), ""}, "\n")
}
