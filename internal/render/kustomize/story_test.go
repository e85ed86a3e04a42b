package kustomize

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// story is a txtar file: "in/…" are the tree, "request" the request as YAML, "want" the objects with their places, or
// "error" what is said instead. "same" in the comment asks that Kustomize on a disk gives the same objects.
type story struct {
	tree    given.Tree
	request render.Request
	same    bool
	want    *txtar.File
	failure *txtar.File
	archive *txtar.Archive
}

func readStory(t *testing.T, file string) story {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := story{tree: given.Files(), archive: a, same: strings.Contains(string(a.Comment), "same as kustomize")}
	s.request.Path = "."
	for i, f := range a.Files {
		name, isInput := strings.CutPrefix(f.Name, "in/")
		link, isLink := strings.CutSuffix(name, " (link)")
		switch {
		case isInput && isLink:
			s.tree.MapFS[link] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(strings.TrimSpace(string(f.Data)))}
		case isInput:
			s.tree.Put(name, string(f.Data))
		case f.Name == "request":
			if err := yaml.UnmarshalStrict(f.Data, &s.request); err != nil {
				t.Fatal(err)
			}
		case f.Name == "want":
			s.want = &a.Files[i]
		case f.Name == "error":
			s.failure = &a.Files[i]
		default:
			t.Fatalf("unknown section %q", f.Name)
		}
	}
	s.request.Files = s.tree
	return s
}

// printResult prints a result as a story does.
func printObjects(t *testing.T, objects []render.Object) string {
	t.Helper()
	var b strings.Builder
	for _, o := range objects {
		y, err := yaml.Marshal(o.Data)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s:%d\n%s", o.File, o.Line, y)
	}
	return b.String()
}

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			s := readStory(t, file)
			res, err := (&Renderer{Plain: plain.Renderer{}}).Render(context.Background(), s.request)
			got, want := "", s.want
			if err != nil {
				got, want = err.Error()+"\n", s.failure
			} else {
				got = printObjects(t, res.Objects)
			}
			if os.Getenv("UPDATE_STORIES") != "" {
				update(t, s, file, err, got)
				return
			}
			if want == nil {
				t.Fatalf("the story expects another kind of end; got:\n%s", got)
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.same {
				sameAsKustomize(t, s, res.Objects)
			}
		})
	}
}

func update(t *testing.T, s story, file string, err error, got string) {
	t.Helper()
	name := "want"
	if err != nil {
		name = "error"
	}
	kept := s.archive.Files[:0]
	for _, f := range s.archive.Files {
		if f.Name != "want" && f.Name != "error" {
			kept = append(kept, f)
		}
	}
	s.archive.Files = append(kept, txtar.File{Name: name, Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(s.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sameAsKustomize compares object for object with Kustomize on a disk, without any of our parts.
func sameAsKustomize(t *testing.T, s story, got []render.Object) {
	t.Helper()
	dir := t.TempDir()
	for name, f := range s.tree.MapFS {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionNone
	o.LoadRestrictions = types.LoadRestrictionsNone
	m, err := krusty.MakeKustomizer(o).Run(filesys.MakeFsOnDisk(), path.Join(dir, s.request.Path))
	if err != nil {
		t.Fatal(err)
	}
	var want, ours []object.Object
	for _, r := range m.Resources() {
		b, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var data map[string]any
		if err := kjson.Unmarshal(b, &data); err != nil {
			t.Fatal(err)
		}
		want = append(want, data)
	}
	for _, o := range got {
		ours = append(ours, o.Data)
	}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Errorf("kustomize and we differ (-kustomize +ours):\n%s", diff)
	}
}
