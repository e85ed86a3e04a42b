package policy

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestMarksTellWhoseAnObjectIs(t *testing.T) {
	a := Adoption{
		Labels: map[string]string{"by": "web", "in": "shop"}, Annotation: "track", Prefixes: []string{"web:", "shop_web:"}, Hints: map[string]string{"instance": "web"},
		Release: map[string]string{"release": "web", "of": "shop"},
	}
	made := func(labels, annotations map[string]any) object.Object {
		return object.Object{"metadata": map[string]any{"labels": labels, "annotations": annotations}}
	}
	for name, c := range map[string]struct {
		live    object.Object
		mine    bool
		another string
	}{
		"both labels":            {live: made(map[string]any{"by": "web", "in": "shop"}, nil), mine: true},
		"one of them":            {live: made(map[string]any{"by": "web"}, nil)},
		"another app's label":    {live: made(map[string]any{"by": "api", "in": "shop"}, nil), another: "by: api"},
		"tracked":                {live: made(nil, map[string]any{"track": "shop_web:apps/Deployment:shop/web"}), mine: true},
		"tracked for another":    {live: made(nil, map[string]any{"track": "webs:apps/Deployment:shop/web"}), another: "track: webs:apps/Deployment:shop/web"},
		"a hint":                 {live: made(map[string]any{"instance": "web"}, nil), mine: true},
		"another's hint is none": {live: made(map[string]any{"instance": "api"}, nil)},
		"both marks of Helm":     {live: made(nil, map[string]any{"release": "web", "of": "shop"}), mine: true},
		"one mark of Helm":       {live: made(nil, map[string]any{"of": "shop"})},
		"another release's":      {live: made(map[string]any{"by": "web", "in": "shop"}, map[string]any{"release": "api"}), another: "release: api"},
		"nothing":                {live: made(nil, nil)},
	} {
		if mine, another := a.OwnerOf(c.live); mine != c.mine || another != c.another {
			t.Errorf("%s: mine %v, another %q", name, mine, another)
		}
	}
}
