package yamledit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/yamledit"
)

// A story has pairs of files: "case" and "case.want"; the line "#! verb path [value]" before the first of them in the comment of the
// archive says what is done. In "want", a first line "error: …" is a refusal.
func TestSpliceStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		for i := 0; i+1 < len(a.Files); i += 2 {
			in, want := a.Files[i], &a.Files[i+1]
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+in.Name, func(t *testing.T) {
				got := story(t, in, strings.TrimPrefix(want.Name, "> "))
				if os.Getenv("UPDATE_STORIES") != "" {
					changed = changed || got != string(want.Data)
					want.Data = []byte(got)
				} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
		if changed {
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// unseen are what an archive of text cannot hold well.
var unseen = strings.NewReplacer("<CR>", "\r", "<TAB>", "\t", "<BOM>", "\uFEFF", "<END>\n", "")

func story(t *testing.T, in txtar.File, order string) string {
	t.Helper()
	name := "a.yaml"
	if strings.HasSuffix(in.Name, "json") {
		name = "a.json"
	}
	out, err := yamledit.ApplyEdits(name, []byte(unseen.Replace(string(in.Data))), edits(t, order)...)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	s := strings.NewReplacer("\r", "<CR>", "\t", "<TAB>", "\uFEFF", "<BOM>").Replace(string(out))
	if !strings.HasSuffix(s, "\n") {
		s += "<END>\n"
	}
	return s
}

// edits reads "remove .spec.replicas | set .a[0] 5": the verb, the path and the value in YAML; a verb "remove!" takes emptied parents along;
// "2:remove" is for the second document.
func edits(t *testing.T, order string) []yamledit.Edit {
	t.Helper()
	var out []yamledit.Edit
	for _, one := range strings.Split(order, " | ") {
		words := strings.SplitN(strings.TrimSpace(one), " ", 3)
		e := yamledit.Edit{WhenEmpty: yamledit.KeepEmpty}
		if doc, verb, ok := strings.Cut(words[0], ":"); ok {
			words[0] = verb
			e.Document = int(doc[0] - '1')
		}
		verb, goes := strings.CutSuffix(words[0], "!")
		if goes {
			e.WhenEmpty = yamledit.RemoveEmpty
		}
		e.Action, e.Path = yamledit.Action(verb), path(words[1])
		if len(words) > 2 {
			var n yaml.Node
			if err := yaml.Unmarshal([]byte(words[2]), &n); err != nil {
				t.Fatal(err)
			}
			e.Value = value(t, n.Content[0])
		}
		out = append(out, e)
	}
	return out
}

func path(s string) yamledit.Path {
	var p yamledit.Path
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ']' }) {
		name, index, isItem := strings.Cut(part, "[")
		if name != "" {
			p = append(p, yamledit.KeyStep(name))
		}
		if isItem {
			p = append(p, yamledit.ItemStep(int(index[0]-'0')))
		}
	}
	return p
}

func value(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		m := yamledit.Map{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m = append(m, yamledit.Entry{Key: n.Content[i].Value, Value: value(t, n.Content[i+1])})
		}
		return m
	case yaml.SequenceNode:
		l := []any{}
		for _, c := range n.Content {
			l = append(l, value(t, c))
		}
		return l
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestRefusalsCanBeToldApart(t *testing.T) {
	for in, want := range map[string]error{
		"a: 1":                                  yamledit.ErrAbsent,
		"x: &x {b: 1}\na: {<<: *x}":             yamledit.ErrShared,
		"a: &x {b: 1}\nc: *x":                   yamledit.ErrShared,
		"a: {b: &x 1, c: 2}\nd: *x":             yamledit.ErrShared,
		"x: &x {b: 1}\na: *x":                   yamledit.ErrShared,
		"x: &x {b: 1}\na: {b: 2, c: 3, <<: *x}": yamledit.ErrForm,
		"a:\n  ? b\n  : 1\n  c: 2\n":            yamledit.ErrForm,
	} {
		_, err := yamledit.ApplyEdits("a.yaml", []byte(in), yamledit.Edit{Action: yamledit.Remove, Path: yamledit.KeyPath("a", "b"), WhenEmpty: yamledit.KeepEmpty})
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", in, err, want)
		}
	}
}

func TestNoErrorQuotesTheFile(t *testing.T) {
	const canary = "hunter2"
	for _, in := range []string{"a: 'hunter2\n", "a: *hunter2", "hunter2: 1\nhunter2: 2\n", "a: !!int hunter2\nb: [", "? [hunter2]\n: 1\n"} {
		_, err := yamledit.ApplyEdits("a.yaml", []byte(in), yamledit.Edit{Action: yamledit.Remove, Path: yamledit.KeyPath("a"), WhenEmpty: yamledit.KeepEmpty})
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
