package substitute

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// reader builds what one file has.
type reader struct{}

func (reader) Spent() bool { return false }

func (reader) Render(_ context.Context, r render.Request) (render.Result, error) {
	data, err := render.ReadFile(r.Files, "in.yaml", 1<<20)
	if err != nil {
		return render.Result{}, err
	}
	objects, err := render.Manifests("in.yaml", data)
	return render.Result{Objects: objects}, err
}

func substituted(in golden.Files, need func(string) string) (render.Result, error) {
	s := variables.Set{Variables: map[string]variables.Variable{}, Unknown: variables.Unknown(strings.TrimSpace(in["unknown"]))}
	for file, from := range map[string]variables.Origin{"variables": variables.FromSpec, "secrets": variables.FromSecret} {
		values := map[string]string{}
		if err := yaml.Unmarshal([]byte(in[file]), &values); err != nil {
			return render.Result{}, err
		}
		for k, v := range values {
			s.Variables[k] = variables.Variable{Value: v, From: from}
		}
	}
	return Renderer{Builder: reader{}}.Render(context.Background(), render.Request{Files: given.Files("in.yaml", need("in.yaml")), Path: ".", Variables: &s})
}

func TestStories(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		res, err := substituted(in, func(name string) string { return in.Need(t, name) })
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		for i, o := range res.Objects {
			text, err := yaml.Marshal(o.Data)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				b.WriteString("---\n")
			}
			b.Write(text)
			for _, names := range o.Sensitive {
				fmt.Fprintf(&b, "# from a Secret: %s\n", strings.Join(names, " "))
			}
		}
		return b.String()
	})
}

// FuzzSubstitution: no panic, one object for one, and a Secret's value that went into a field is listed.
func FuzzSubstitution(f *testing.F) {
	f.Add("${A}-${B:=x}", "1", "canary")
	f.Add("${A/x/${B}}", "x", "y: z")
	f.Add("${A:-9999999999:-1}$${B}", "\r---\rkind: Pod", "'")
	f.Add("${#B}${B^^}${B:1:2}", "", "qQzZ")
	f.Fuzz(func(t *testing.T, text, open, secret string) {
		if len(text) > 1_000 || len(open) > 100 || len(secret) > 100 {
			return
		}
		o := render.Object{File: "in.yaml", Line: 1, Data: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"text": text},
		}}
		s := variables.Set{Variables: map[string]variables.Variable{"A": {Value: open}, "B": {Value: secret, From: variables.FromSecret}}}
		got, err := replaceVariables(o, s)
		if err != nil {
			return
		}
		now, _ := got.Data.At("data", "text").(string)
		shown := len(secret) > 8 && strings.Contains(now, secret) && !strings.Contains(text+open, secret)
		if shown && !slices.ContainsFunc(got.Sensitive, func(names []string) bool { return len(names) <= 2 }) {
			t.Errorf("%q with %q holds the secret and is not listed: %q", text, now, got.Sensitive)
		}
	})
}
