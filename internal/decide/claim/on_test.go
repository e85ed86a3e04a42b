package claim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
	"go.yaml.in/yaml/v3"
)

func scalar(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: 1}
}

func hpaOf(name, target string) string {
	return fmt.Sprintf("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: %s, namespace: shop}\n"+
		"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}, minReplicas: 3, maxReplicas: 10}", name, target)
}

func deploymentOf(name string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: shop}\nspec: {replicas: 3}"
}

func TestClaims(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		c := claim.Builtin()
		if text, ok := in["catalogue.yaml"]; ok {
			var err error
			if c, err = c.With("catalogue.yaml", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		var ix claim.Index
		for doc := range strings.SplitSeq(in["claimants"], "\n---\n") {
			if o := given.Object(t, doc); o != nil {
				ix.Put(o.ID(), c.Read(o))
			}
		}
		s := claim.Subject{Desired: given.Object(t, in["git.yaml"]), Live: given.Object(t, in["live.yaml"])}
		var err error
		if s.Owners, err = ownership.Entries(s.Live); err != nil {
			t.Fatal(err)
		}
		id := s.Live.ID()
		if s.Desired != nil {
			id = s.Desired.ID()
		}
		return printClaims(c.On(s, ix.For(id)), s)
	})
}

func printClaims(all []claim.Claim, s claim.Subject) string {
	var b strings.Builder
	for _, c := range all {
		git, _ := field.ValueAt(s.Desired, c.Path)
		live, _ := field.ValueAt(s.Live, c.Path)
		fmt.Fprintf(&b, "%s %s by %s (%s, %s)\n  %s\n", c.Do, field.PathString(c.Path), c.Name(), c.Entry, c.Certainty, c.Evidence)
		if c.Counts() {
			fmt.Fprintf(&b, "  seed %d, with 5 remembered %d\n", c.Seed(nil, git), c.Seed(int64(5), git))
		}
		if c.Paused(live) {
			b.WriteString("  paused\n")
		}
		if c.Placeholder(git) {
			b.WriteString("  Git holds a placeholder\n")
		}
		if c.App != "" {
			fmt.Fprintf(&b, "  the claimant is in app %s\n", c.App)
		}
		for _, n := range c.Notes {
			fmt.Fprintf(&b, "  note: %s\n", n)
		}
	}
	if b.Len() == 0 {
		return "nobody claims anything\n"
	}
	return b.String()
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  versions:
  - {name: v1alpha1}
  - {name: v1beta1, subresources: {scale: {specReplicasPath: .spec.workers.count}}}
  - {name: v1, subresources: {scale: {specReplicasPath: .spec.size}}}
`

func TestTheCountOfACustomResourceIsWhereItsScaleSubresourceSays(t *testing.T) {
	crd := given.Object(t, gadgets)
	for version, want := range map[string]field.Path{
		"v1": field.NewPath("spec", "size"), "v1beta1": field.NewPath("spec", "workers", "count"), "v1alpha1": field.NewPath("spec", "workers", "count"),
	} {
		if got := claim.ScaleOf(crd, version); !got.Equals(want) {
			t.Errorf("at %s: %s, want %s", version, field.PathString(got), field.PathString(want))
		}
	}
	if got := claim.ScaleOf(given.Object(t, "spec: {versions: [{name: v1}]}"), "v1"); got != nil {
		t.Errorf("a kind without a scale subresource keeps its count at %s", field.PathString(got))
	}
	c := claim.Builtin()
	gadget := given.Object(t, "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g, namespace: shop}\nspec: {size: 3, replicas: 2}")
	hpa := given.Object(t, "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: g, namespace: shop}\n"+
		"spec: {scaleTargetRef: {apiVersion: example.com/v1, kind: Gadget, name: g}, minReplicas: 3, maxReplicas: 10}")
	got := c.On(claim.Subject{Desired: gadget, Scale: claim.ScaleOf(crd, "v1")}, c.Read(hpa))
	if len(got) != 1 || !got[0].Path.Equals(field.NewPath("spec", "size")) || !got[0].Scale {
		t.Errorf("claims are %+v, want one to .spec.size", got)
	}
	if kinds := c.ClaimantsOf(gadget.ID(), field.NewPath("spec", "size")); len(kinds) == 0 {
		t.Error("nobody is asked before the size of a custom resource is corrected")
	}
}
