package desired_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// A story has files under in/, the directory in "dir", and in "ask" lines of kind, name and path; "want" has the answers.
func TestOriginStories(t *testing.T) {
	files, err := filepath.Glob("testdata/origin/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := originStory(t, a)
			if os.Getenv("UPDATE_STORIES") != "" {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// plainly is how a directory is read whose app says that it holds manifests, whatever its files are called.
func plainly(a app.App) *render.Directory {
	if a.Layout != app.PlainLayout {
		return nil
	}
	return &render.Directory{}
}

func originStory(t *testing.T, a *txtar.Archive) (got string, want *txtar.File) {
	t.Helper()
	tree, dir, ask := given.Files(), ".", ""
	of := app.App{DefaultNamespace: policy.DefaultNamespace{Name: "default"}, Key: app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}}
	for i, f := range a.Files {
		name, isInput := strings.CutPrefix(f.Name, "in/")
		switch {
		case isInput:
			tree.Put(name, string(f.Data))
		case f.Name == "dir":
			dir = strings.TrimSpace(string(f.Data))
		case f.Name == "app":
			if err := yaml.UnmarshalStrict(f.Data, &of); err != nil {
				t.Fatal(err)
			}
		case f.Name == "metadata":
			if err := yaml.UnmarshalStrict(f.Data, &of.Overlay.Metadata); err != nil {
				t.Fatal(err)
			}
		case f.Name == "ask":
			ask = string(f.Data)
		case f.Name == "want":
			want = &a.Files[i]
		}
	}
	res, err := (&kustomize.Renderer{Plain: plain.Renderer{}}).Render(context.Background(), render.Request{
		Files: tree, Path: dir, Namespace: of.Namespace, Overlay: of.Overlay, Directory: plainly(of),
	})
	if err != nil {
		t.Fatal(err)
	}
	of.Path = dir
	set, err := desired.Normalize(res.Objects, of, func(object.GVK) desired.Scope { return desired.Namespaced })
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(ask) {
		words := strings.Fields(line)
		o := pick(t, set.Objects, words[0], words[1])
		p := parsePath(t, words[2])
		at := desired.FieldOrigin(tree, of, o, p)
		v, _ := field.ValueAt(o.Data, p)
		fmt.Fprintf(&b, "%s = %v: ", words[2], v)
		switch {
		case at == desired.Place{}:
			b.WriteString("unknown\n")
		case at.Field != "" && !at.Exact:
			fmt.Fprintf(&b, "near %s %s\n", at.Means, at)
		case at.Field != "":
			fmt.Fprintf(&b, "%s %s\n", at.Means, at)
		case at.Exact:
			fmt.Fprintf(&b, "%s %s:%d:%d\n", at.Means, at.File, at.Line, at.Column)
		default:
			fmt.Fprintf(&b, "near %s %s:%d:%d\n", at.Means, at.File, at.Line, at.Column)
		}
	}
	return b.String(), want
}

func pick(t *testing.T, objects []desired.Object, kind, name string) desired.Object {
	t.Helper()
	for _, o := range objects {
		if o.ID.Kind == kind && o.ID.Name == name {
			return o
		}
		if o.ID.Kind == kind && strings.HasSuffix(name, "*") && strings.HasPrefix(o.ID.Name, strings.TrimSuffix(name, "*")) {
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return desired.Object{}
}

// parsePath reads spec/containers/[name=web]/args/[0].
func parsePath(t *testing.T, s string) field.Path {
	t.Helper()
	var p field.Path
	for _, part := range strings.Split(s, "/") {
		inner, isItem := strings.CutPrefix(strings.TrimSuffix(part, "]"), "[")
		if !isItem {
			p = append(p, field.NewPath(strings.ReplaceAll(part, "|", "/"))...)
			continue
		}
		if i, err := strconv.Atoi(inner); err == nil {
			p = append(p, fieldpath.PathElement{Index: &i})
			continue
		}
		var keys value.FieldList
		for _, pair := range strings.Split(inner, ",") {
			k, v, _ := strings.Cut(pair, "=")
			var val any = v
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				val = n
			}
			keys = append(keys, value.Field{Name: k, Value: value.NewValueInterface(val)})
		}
		p = append(p, fieldpath.PathElement{Key: &keys})
	}
	return p
}
