package helm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
)

// How many keys of values are tried out to find where fields come from, and for how long.
const (
	mostProbes   = 300
	probesWithin = 10 * time.Second
)

// tracer finds out which key of the values a field comes from: the chart is rendered with another value at one key, and the fields are those that
// have this value then, and had the old one before. Whatever a template does in between, that is so; what cannot be shown is left out.
type tracer struct {
	*build
	options common.ReleaseOptions
	values  map[string]any // all that templates see
	before  []render.Object
	found   map[string]*release.Origin // by field; nil for several keys
}

// trace adds the origins to a render's result.
func (h Renderer) trace(ctx context.Context, r render.Request, asked *lookups, res *render.Result) {
	chart, err := loadChart(r)
	if err != nil {
		return // it was loaded before
	}
	if r.Chart, err = withFiles(r); err != nil {
		return
	}
	values, err := mergeValues(r.Chart.Values)
	if err != nil {
		return
	}
	b := build{renderer: h, request: r, lookups: asked, chart: chart}
	if err := b.setValues(values); err != nil {
		return
	}
	options := common.ReleaseOptions{Name: r.Chart.Release, Namespace: r.Chart.Namespace, Revision: r.Chart.Past + 1}
	if res.Release == nil {
		res.Release = &release.Release{}
	} else {
		options.Revision = res.Release.Revision
	}
	options.IsInstall = options.Revision == 1
	options.IsUpgrade = !options.IsInstall
	res.Release.Origins = b.origins(ctx, options, res.Objects)
}

// origins are those of a render's objects.
func (b *build) origins(ctx context.Context, options common.ReleaseOptions, objects []render.Object) []release.Origin {
	ctx, cancel := context.WithTimeout(ctx, probesWithin)
	defer cancel()
	t := tracer{build: b, options: options, found: map[string]*release.Origin{}}
	var err error
	if t.values, err = b.coalesced(); err != nil {
		return nil
	}
	if t.before, err = t.objectsOf(ctx, t.values); err != nil {
		return nil
	}
	t.lookups.view = viewKnown // other values may ask other questions, which are not the release's
	fields := t.fields(objects)
	for _, leaf := range leavesOf(t.values, fields) {
		if ctx.Err() != nil {
			break
		}
		t.probe(ctx, leaf, fields)
	}
	var out []release.Origin
	for _, key := range slices.Sorted(maps.Keys(t.found)) {
		if o := t.found[key]; o != nil {
			out = append(out, *o)
		}
	}
	return out
}

// coalesced are all values that templates see: those of the request over those of the chart and its dependencies. What is global stands at the top
// alone.
func (b *build) coalesced() (map[string]any, error) {
	chart, err := b.load()
	if err != nil {
		return nil, err
	}
	values := cloneValues(b.values)
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return nil, err
	}
	all, err := util.CoalesceValues(chart, values)
	if err != nil {
		return nil, err
	}
	out := cloneValues(plainMap(all))
	for _, d := range chart.Dependencies() {
		if below, ok := out[d.Name()].(map[string]any); ok {
			delete(below, common.GlobalKey)
		}
	}
	return out, nil
}

func plainMap(v common.Values) map[string]any { return v }

func (t *tracer) objectsOf(ctx context.Context, values map[string]any) ([]render.Object, error) {
	out, err := t.execute(ctx, t.options, values, release.SkipValidation)
	if err != nil {
		return nil, err
	}
	return t.objects(out)
}

// place is a field of one of the objects that were rendered first.
type place struct {
	object int
	path   []any
}

// fields are the scalar fields by their texts, of those objects that are rendered as the release has them.
func (t *tracer) fields(released []render.Object) map[string][]place {
	is := map[object.ID]object.Object{}
	for _, o := range released {
		is[o.Data.ID()] = o.Data
	}
	out := map[string][]place{}
	for i, o := range t.before {
		eachScalar(map[string]any(o.Data), nil, func(path []any, v any) {
			if now, there := valueAt(map[string]any(is[o.Data.ID()]), path); there && plainTextOf(now) == plainTextOf(v) {
				out[plainTextOf(v)] = append(out[plainTextOf(v)], place{i, path})
			}
		})
	}
	return out
}

// leafValue is a scalar in the values.
type leafValue struct {
	path  []any
	value any
}

// leavesOf are the scalars in values that are the text of a field. Those that say little, such as true, come last.
func leavesOf(values map[string]any, fields map[string][]place) []leafValue {
	var out []leafValue
	eachScalar(values, nil, func(path []any, v any) {
		if text := plainTextOf(v); text != "" && len(fields[text]) > 0 {
			out = append(out, leafValue{path, v})
		}
	})
	slices.SortStableFunc(out, func(a, b leafValue) int { return len(fields[plainTextOf(a.value)]) - len(fields[plainTextOf(b.value)]) })
	return out[:min(len(out), mostProbes)]
}

// probe renders with another value at one key, and notes the fields that have it.
func (t *tracer) probe(ctx context.Context, leaf leafValue, fields map[string][]place) {
	other := withMark(leaf.value)
	values := cloneValues(t.values)
	if !putValueAt(values, leaf.path, other) {
		return
	}
	after, err := t.objectsOf(ctx, values)
	if err != nil || len(after) != len(t.before) {
		return
	}
	for _, at := range fields[plainTextOf(leaf.value)] {
		was, is := t.before[at.object].Data, after[at.object].Data
		now, there := valueAt(map[string]any(is), at.path)
		if !there || is.ID().Kind != was.ID().Kind || plainTextOf(now) != plainTextOf(other) {
			continue
		}
		id := was.ID()
		key := fmt.Sprint(id, at.path)
		if _, several := t.found[key]; several {
			t.found[key] = nil
			continue
		}
		o := t.origin(leaf.path)
		o.Group, o.Kind, o.Namespace, o.Name, o.Field = id.Group, id.Kind, id.Namespace, id.Name, stepTexts(at.path)
		t.found[key] = &o
	}
}

// withMark is another value of the same type, of which templates that expect one like the old one make something.
func withMark(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + 1
	case int64:
		return v + 1
	case string:
		if n, err := strconv.ParseInt(v, 10, 32); err == nil {
			return strconv.FormatInt(n+1, 10)
		}
		return v + "-truce"
	}
	return v
}

// eachScalar calls f with each scalar of a tree.
func eachScalar(v any, at []any, f func(path []any, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachScalar(v[k], append(slices.Clip(at), k), f)
		}
	case []any:
		for i, e := range v {
			eachScalar(e, append(slices.Clip(at), i), f)
		}
	case nil:
	default:
		f(at, v)
	}
}

// valueAt is what is at a path of a tree.
func valueAt(v any, path []any) (any, bool) {
	for _, step := range path {
		switch in := v.(type) {
		case map[string]any:
			name, _ := step.(string)
			next, there := in[name]
			if !there {
				return nil, false
			}
			v = next
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// putValueAt replaces what is at a path of a tree.
func putValueAt(v any, path []any, value any) bool {
	last := len(path) - 1
	parent, there := valueAt(v, path[:last])
	if !there {
		return false
	}
	switch in := parent.(type) {
	case map[string]any:
		name, _ := path[last].(string)
		in[name] = value
	case []any:
		i, _ := path[last].(int)
		in[i] = value
	}
	return true
}

// plainTextOf is a scalar as a template prints it.
func plainTextOf(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// stepTexts are the steps of a path as texts.
func stepTexts(path []any) []string {
	out := make([]string, len(path))
	for i, step := range path {
		out[i] = fmt.Sprint(step)
	}
	return out
}

// keyText is a path as helm --set has it.
func keyText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(strings.ReplaceAll(s, ".", `\.`))
		}
	}
	return b.String()
}
