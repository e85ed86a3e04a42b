package values_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render/values"
)

// changing holds a ConfigMap that is another one at each GET, and nothing else.
type changing struct {
	live.Reader
	gets int
}

func (c *changing) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	c.gets++
	if id.Name != "web" {
		return nil, live.ErrNotFound
	}
	text := fmt.Sprint(c.gets)
	return object.Object{"apiVersion": "v1", "kind": id.Kind, "metadata": map[string]any{"name": id.Name}, "data": map[string]any{"a": "a" + text, "b": "b" + text}}, nil
}

// TestAnObjectIsReadOnceForAllItsKeys, so that they are of one state of it.
func TestAnObjectIsReadOnceForAllItsKeys(t *testing.T) {
	reader := &changing{}
	ref := func(name, key string) release.Reference {
		return release.Reference{Kind: "ConfigMap", Name: name, Key: key, Optional: true}
	}
	all, err := values.ReadChartValues(t.Context(), reader, "shop", []release.Reference{ref("gone", "a"), ref("web", "a"), ref("web", "b"), ref("web", "c")})
	if err != nil || reader.gets != 2 {
		t.Errorf("%d GETs, %v", reader.gets, err)
	}
	var texts []string
	for _, v := range all {
		texts = append(texts, v.Text)
	}
	if diff := cmp.Diff([]string{"a2", "b2"}, texts); diff != "" {
		t.Error(diff)
	}
}
