package fix

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/yamledit"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// errChart says that no edit of a chart's values ends the finding: templates are not edited.
var errChart = errors.New("a template of a chart writes it, which decides what its values can do")

// errTexts says that a value is in a text: of a ConfigMap, a Secret, or a field of the custom resource.
var errTexts = errors.New("its value is written in a text, which is not edited")

// valueEdit is an edit of a file that holds values.
type valueEdit struct {
	file string
	edit yamledit.Edit
}

// valueChange is the edits that take a value away.
type valueChange struct {
	key   string
	edits []valueEdit
}

// removeValue takes a value away from a chart whose template leaves the field out without it, where the repository writes the value.
func (m *planner) removeValue(ctx context.Context, f finding) (Fix, error) {
	o, err := m.object(ctx, f)
	if err != nil {
		return Fix{}, err
	}
	if isScaledToZero(f, o) {
		return Fix{}, errOff
	}
	from, ok := m.valueOf(f)
	if !ok {
		return Fix{}, errChart
	}
	tries, err := m.valueEdits(f, from)
	for _, edits := range tries {
		var cure Fix
		if cure, err = m.withoutValue(ctx, f, o, valueChange{from.Key, edits}); err == nil || ctx.Err() != nil {
			return cure, err
		}
	}
	return Fix{}, fmt.Errorf("%w: without %s: %w", errChart, from.Key, err)
}

// valueOf is the key of the chart's values that the field of a finding comes from, where that is one.
func (m *planner) valueOf(f finding) (release.Origin, bool) {
	var steps []string
	for _, e := range f.Path {
		if e.FieldName == nil {
			return release.Origin{}, false
		}
		steps = append(steps, *e.FieldName)
	}
	all := m.Discovery.Units[f.at].Origins
	i := slices.IndexFunc(all, func(from release.Origin) bool {
		return from.Group == f.Object.Group && from.Kind == f.Object.Kind && from.Name == f.Object.Name &&
			(from.Namespace == "" || from.Namespace == f.Object.Namespace) && slices.Equal(from.Field, steps)
	})
	if i < 0 {
		return release.Origin{}, false
	}
	return all[i], true
}

// valueEdits are the edits that may take a value away, the smallest first: its key goes; it becomes null over the default of the chart, in a file of
// values; or it goes and the chart's own default, which would follow, becomes null. A custom resource gets no null, which the API server may drop.
func (m *planner) valueEdits(f finding, from release.Origin) ([][]valueEdit, error) {
	u := m.Discovery.Units[f.at]
	written := valueEdit{file: from.File, edit: yamledit.Edit{Path: keyPath(from.Key), Action: yamledit.Remove, WhenEmpty: yamledit.KeepEmpty}}
	within := from.From == "spec.values" || strings.HasSuffix(from.From, ".valuesObject")
	switch {
	case from.File != "":
	case within:
		document, err := m.documentOf(f)
		if err != nil {
			return nil, err
		}
		written.file, written.edit.Document = u.File, document
		written.edit.Path = slices.Concat(keyPath(from.From), written.edit.Path)
	default:
		return nil, errTexts
	}
	null := func(file string) valueEdit {
		return valueEdit{file, yamledit.Edit{Path: keyPath(from.Key), Action: yamledit.Set}}
	}
	out := [][]valueEdit{{written}}
	if !within {
		out = append(out, []valueEdit{null(from.File)})
	}
	for _, dir := range slices.Concat(u.ChartDirs, []string{path.Clean(u.App.Path)}) {
		if own := path.Join(dir, "values.yaml"); own != written.file && slices.Contains(u.Reads, own) && upstream.RepositoryRoot(own) == "" {
			out = append(out, []valueEdit{written, null(own)})
		}
	}
	return out, nil
}

// documentOf is which document of its file the custom resource of a finding's unit is.
func (m *planner) documentOf(f finding) (int, error) {
	u := m.Discovery.Units[f.at]
	data, err := m.tree.read(u.File)
	if err != nil {
		return 0, err
	}
	docs, err := render.ParseNodes(u.File, data)
	if err != nil {
		return 0, err
	}
	at := -1
	for i, n := range docs {
		if n.Line <= u.Line {
			at = i
		}
	}
	if at < 0 {
		return 0, errInapplicable
	}
	return at, nil
}

// keyPath is a key of values as helm --set has it, or a field of the custom resource, as a way in a document.
func keyPath(key string) yamledit.Path {
	const dot = "\x00"
	key = strings.ReplaceAll(key, `\.`, dot)
	var out yamledit.Path
	for part := range strings.SplitSeq(key, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name != "" {
			out = append(out, yamledit.KeyStep(strings.ReplaceAll(name, dot, ".")))
		}
		for index := range strings.SplitSeq(strings.TrimSuffix(rest, "]"), "][") {
			if i, err := strconv.Atoi(index); err == nil {
				out = append(out, yamledit.ItemStep(i))
			}
		}
	}
	return out
}

// withoutValue is the cure that edits make, if they do.
func (m *planner) withoutValue(ctx context.Context, f finding, o render.Object, by valueChange) (Fix, error) {
	next := m.tree.clone()
	var files []string
	for _, e := range by.edits {
		data, err := next.read(e.file)
		if err == nil {
			data, err = yamledit.ApplyEdits(e.file, data, e.edit)
		}
		if err != nil {
			return Fix{}, err
		}
		next.edits[e.file] = data
		files = append(files, e.file)
	}
	want := intent{path: f.Path, in: f.at, resource: f.at, meant: m.alike(f, o)}
	if err := m.accept(ctx, next, want); err != nil {
		return Fix{}, err
	}
	c := m.removed(f, files)
	c.What = fmt.Sprintf("take the value %s from the chart of %s, in %s, without which it leaves %s of %s out", by.key, f.Unit, joinNames(files), fieldName(f.Path), f.Object)
	return c, nil
}
