package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/lookup"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// heldObjects are what a cluster holds, and the namespaces that it refuses to show.
type heldObjects struct {
	Objects []map[string]any
	Refused []string
	asked   []string
}

// clusterOf reads a story's cluster; nil for none.
func clusterOf(t *testing.T, in golden.Files) *heldObjects {
	t.Helper()
	text, there := in["cluster.yaml"]
	if !there {
		return nil
	}
	var c heldObjects
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// Lookup implements lookup.Reader.
func (c *heldObjects) Lookup(_ context.Context, q lookup.Question) (map[string]any, error) {
	c.asked = append(c.asked, q.String())
	if slices.Contains(c.Refused, q.Namespace) {
		return nil, errors.New("it is forbidden")
	}
	items := []any{}
	for _, o := range c.Objects {
		meta, _ := o["metadata"].(map[string]any)
		if o["apiVersion"] != q.APIVersion || o["kind"] != q.Kind || q.Namespace != "" && meta["namespace"] != q.Namespace {
			continue
		}
		if meta["name"] == q.Name {
			return o, nil
		}
		items = append(items, o)
	}
	if q.Name != "" || len(items) == 0 {
		return map[string]any{}, nil
	}
	return map[string]any{"items": items}, nil
}

// passwordChart keeps the password of a Secret, or makes one, and shows it in a ConfigMap.
const passwordChart = `{{ with lookup "v1" "Secret" "n" "r" }}{{ .data.password | b64dec }}{{ else }}{{ randAlphaNum 20 }}{{ end }}`

func passwordCluster() *heldObjects {
	return &heldObjects{Objects: []map[string]any{{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "r", "namespace": "n"}, "data": map[string]any{"password": "aHVudGVyMjI="},
	}}}
}

func TestWhatLookupsFoundOfAReleaseIsMaskedAndMakesNoOther(t *testing.T) {
	r := chartOf("x")
	r = withTemplate(r, passwordChart)
	cluster := &heldObjects{}
	r.Lookup = cluster
	first, err := renderer().Render(t.Context(), r)
	if err != nil || !first.Momentary {
		t.Fatalf("momentary %v, %v", first.Momentary, err)
	}
	r.Lookup = passwordCluster()
	r.Chart.Newest, r.Chart.Past = &release.Stored{Text: first.Release.Text, Trust: release.Trusted}, 1
	next, err := renderer().Render(t.Context(), r)
	if err != nil || next.Release.Step != hook.Keep || next.Momentary {
		t.Fatalf("%+v, momentary %v, %v: what the cluster holds now makes no other release", next.Release, next.Momentary, err)
	}
	if got, was := next.Objects[0].Data.StringAt("data", "x"), first.Objects[0].Data.StringAt("data", "x"); got != was {
		t.Errorf("%s, and the release has %s", got, was)
	}
	if got := fmt.Sprint(next.Objects[0].Sensitive); got != "[[data x]]" {
		t.Errorf("masked are %s", got)
	}
	if !slices.Equal(next.Secrets, []string{"hunter22"}) {
		t.Error("the value of the Secret is not known")
	}
	r.Lookup = &heldObjects{Refused: []string{"n"}}
	if next, err = renderer().Render(t.Context(), r); err != nil || fmt.Sprint(next.Objects[0].Sensitive) != "[[]]" || !next.Momentary {
		t.Errorf("%v, momentary %v, %v: what cannot be found out is masked as a whole, and is not kept", next.Objects[0].Sensitive, next.Momentary, err)
	}
	r.Chart.Mode = release.Replay
	if next, err = renderer().Render(t.Context(), r); err != nil || fmt.Sprint(next.Objects[0].Sensitive) != "[[]]" {
		t.Errorf("%v, %v: a former release is masked as a whole", next.Objects[0].Sensitive, err)
	}
}

// withTemplate is the chart with another template, whose text may hold quotes.
func withTemplate(r render.Request, template string) render.Request {
	files := r.Files.(tree)
	files.MapFS["templates/all.yaml"].Data = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: " + template + "\n")
	return r
}

func TestAQuestionIsAskedOnce(t *testing.T) {
	r := withTemplate(chartOf("x"), passwordChart+passwordChart)
	cluster := passwordCluster()
	r.Lookup, r.Chart.Trace, r.Chart.Values = cluster, true, []release.Values{{Text: "a: hunter22"}, {Text: "b: hidden", Secret: true}}
	if _, err := renderer().Render(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cluster.asked, ", "); got != "v1 Secret n/r" {
		t.Errorf("asked for %s", got)
	}
}
