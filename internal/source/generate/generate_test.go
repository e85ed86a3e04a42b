package generate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/release/chart"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/source/tree"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// Each story has sources (files ALIAS/PATH; a content "-> TARGET" is a link, and the lines "FILE: TEXT" of a .tgz are what it holds) and a plan.
func TestFilesAreCopiedAsInFlux(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		var p recipe.Recipe
		if err := yaml.UnmarshalStrict([]byte(in.Need(t, "plan.yaml")), &p); err != nil {
			t.Fatal(err)
		}
		packs := openStore(t)
		from := map[string]source.Artifact{}
		for alias, files := range sourcesOf(in) {
			from[alias] = artifactOf(t, packs, alias, files)
		}
		if text, ok := in["chart.yaml"]; ok {
			var of map[string]chart.Files
			if err := yaml.UnmarshalStrict([]byte(text), &of); err != nil {
				t.Fatal(err)
			}
			for alias, c := range of {
				a := from[alias]
				a.Chart = c
				from[alias] = a
			}
		}
		return buildText(t, Builder{Packs: packs}, p, from)
	})
}

func openStore(t testing.TB) *pack.Store {
	t.Helper()
	packs, err := pack.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

func sourcesOf(in golden.Files) map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, text := range in {
		alias, path, ok := strings.Cut(name, "/")
		if !ok {
			continue
		}
		if out[alias] == nil {
			out[alias] = map[string]string{}
		}
		out[alias][path] = text
	}
	return out
}

// artifactOf stores files as those of an archive.
func artifactOf(t testing.TB, packs *pack.Store, alias string, files map[string]string) source.Artifact {
	t.Helper()
	w, err := packs.NewWriter(source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for name, text := range files {
		mode := tree.Regular
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			mode, text = tree.Link, strings.TrimSpace(target)
		} else if isArchive(name) {
			text = archiveOf(t, text)
		}
		if err := w.Add(t.Context(), name, mode, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.Finish(t.Context(), alias)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := p.Tree(t.Context(), tree.Rules{All: true})
	if err != nil {
		t.Fatal(err)
	}
	return source.Artifact{Revision: "main@sha1:" + alias, Digest: listed.Digest(), Files: listed}
}

func archiveOf(t testing.TB, lines string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		name, text, _ := strings.Cut(line, ": ")
		err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if _, failed := files.Write([]byte(text)); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// buildText prints what a plan makes, and checks that it makes the same again.
func buildText(t *testing.T, b Builder, p recipe.Recipe, from map[string]source.Artifact) string {
	t.Helper()
	got, err := b.Build(t.Context(), p, from)
	if err != nil {
		var e *source.Error
		if !errors.As(err, &e) || e.Reason != source.BuildFailed {
			t.Errorf("the error has no reason: %v", err)
		}
		return err.Error() + "\n"
	}
	again, err := b.Build(t.Context(), p, from)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, m := range got.Made {
		if again.Made[i].Artifact.Digest != m.Artifact.Digest {
			t.Errorf("%s has another digest the second time", m.Name)
		}
		revision := strings.ReplaceAll(m.Artifact.Revision, m.Artifact.Digest, "DIGEST")
		fmt.Fprintf(&out, "=== %s %s", m.Name, revision)
		for _, k := range slices.Sorted(maps.Keys(m.Labels)) {
			fmt.Fprintf(&out, " %s=%s", k, m.Labels[k])
		}
		if origin := m.Artifact.Metadata[source.OriginRevision]; origin != "" {
			fmt.Fprintf(&out, " of %s", origin)
		}
		if m.Inputs != "" {
			fmt.Fprintf(&out, " with %s", m.Inputs)
		}
		out.WriteString("\n" + filesText(t, m.Artifact.Files.(*tree.Tree)))
	}
	return out.String()
}

func filesText(t *testing.T, files *tree.Tree) string {
	t.Helper()
	var out strings.Builder
	for _, e := range files.Entries() {
		data, err := fs.ReadFile(files, e.Path)
		text := strings.TrimSpace(string(data))
		if err != nil {
			text = err.Error()
		}
		if e.Mode == tree.Link {
			text = "(link) " + text
		}
		fmt.Fprintf(&out, "%s: %s\n", e.Path, strings.ReplaceAll(text, "\n", " | "))
	}
	return out.String()
}

func TestABuildIsBounded(t *testing.T) {
	packs := openStore(t)
	many := map[string]string{}
	for i := range 30 {
		many[fmt.Sprintf("d%d/f.yaml", i)] = "a: 1"
	}
	big := map[string]string{"a.yaml": "a: " + strings.Repeat("x", longestText), "b.yaml": "a: 1"}
	from := map[string]source.Artifact{"many": artifactOf(t, packs, "many", many), "big": artifactOf(t, packs, "big", big)}
	all := []recipe.Copy{{Alias: "many", From: "**"}}
	pattern := recipe.Recipe{Pattern: recipe.Pattern{Alias: "many", Path: "{d}"}, Limits: source.Limits{Files: 10}, Outputs: []recipe.Output{{Name: "{d}", Copies: []recipe.Copy{{Alias: "many", From: "{d}/**"}}}}}
	for name, c := range map[string]struct {
		plan recipe.Recipe
		want string
	}{
		"files of one": {recipe.Recipe{Limits: source.Limits{Files: 10}, Outputs: []recipe.Output{{Name: "a", Copies: all}}}, "more than 10 files"},
		"files of all": {pattern, "more than 10 files, or more than 20 in all artifacts"},
		"bytes":        {recipe.Recipe{Limits: source.Limits{Bytes: 10}, Outputs: []recipe.Output{{Name: "a", Copies: all}}}, "more than 10 bytes"},
		"merged": {
			recipe.Recipe{Outputs: []recipe.Output{{Name: "a", Copies: []recipe.Copy{{Alias: "big", From: "a.yaml", To: "v.yaml"}, {Alias: "big", From: "b.yaml", To: "v.yaml", Strategy: recipe.Merge}}}}},
			"merge v.yaml: it has 4194307 bytes, more than 4194304",
		},
		"a pattern": {recipe.Recipe{Outputs: []recipe.Output{{Name: "a", Copies: []recipe.Copy{{Alias: "many", From: strings.Repeat("{a,b}", 7)}}}}}, "more than 64 alternatives"},
	} {
		if _, err := (Builder{packs}).Build(t.Context(), c.plan, from); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the process ends"))
	if _, err := (Builder{packs}).Build(ended, recipe.Recipe{Outputs: []recipe.Output{{Name: "a", Copies: all}}}, from); err == nil || !strings.Contains(err.Error(), "the process ends") {
		t.Errorf("a build whose context has ended: %v", err)
	}
}

// FuzzCopy runs one operation over files with a link that leads out: whatever it asks for, each path of the artifact is a valid one, and nothing but
// the files of the source is in it.
func FuzzCopy(f *testing.F) {
	for _, seed := range [][3]string{
		{"**", "", "*.md"},
		{"dir/**", "to/", "**/x/**"},
		{"dir", "to", "x"},
		{"../etc/*", "../../x", ""},
		{"[", "a", "["},
		{"{a,b}/*", "a", "{"},
		{"out", "x", ""},
		{"./dir/./a.yaml", "./x/", ""},
		{"a.tgz", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], uint8(0))
		f.Add(seed[0], seed[1], seed[2], uint8(1))
		f.Add(seed[0], seed[1], seed[2], uint8(2))
	}
	packs := openStore(f)
	from := map[string]source.Artifact{"s": artifactOf(f, packs, "s", map[string]string{
		"dir/a.yaml": "a: 1", "dir/b.md": "text", "dir/x/c.yaml": "c: 1", "out": "-> ../../etc/passwd", "in": "-> dir/a.yaml", "a.tgz": "x.yaml: 1", "bad.tgz": "",
	})}
	f.Fuzz(func(t *testing.T, of, to, exclude string, how uint8) {
		op := recipe.Copy{Alias: "s", From: of, To: to, Strategy: []recipe.Strategy{recipe.Overwrite, recipe.Merge, recipe.Extract}[how%3]}
		if exclude != "" {
			op.Exclude = []string{exclude}
		}
		first := recipe.Copy{Alias: "s", From: "dir/a.yaml", To: "v.yaml"}
		got, err := Builder{packs}.Build(t.Context(), recipe.Recipe{Outputs: []recipe.Output{{Name: "a", Copies: []recipe.Copy{first, op}}}}, from)
		if err != nil {
			return
		}
		files := got.Made[0].Artifact.Files.(*tree.Tree)
		for _, e := range files.Entries() {
			if !fs.ValidPath(e.Path) {
				t.Errorf("%q is in the artifact", e.Path)
			}
			if _, err := fs.ReadFile(files, e.Path); err != nil && e.Mode != tree.Link {
				t.Errorf("%q cannot be read: %v", e.Path, err)
			}
		}
	})
}
