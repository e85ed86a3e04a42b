package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// includingRepositories has GitRepositories, each with those that it includes.
func includingRepositories(t *testing.T, includes map[string][]string) *Controller {
	t.Helper()
	c, says, _ := speaking(t)
	for name, others := range includes {
		s := dialect.Source{Key: repository(name)}
		for _, other := range others {
			s.Includes = append(s.Includes, tree.Part{Name: other})
		}
		c.sourceSet[s.Key] = &sourceEntry{
			front: posed{before: before{says}, source: s}, cr: resource(), includes: includedSources(s),
		}
	}
	return c
}

func repository(name string) app.SourceKey { return app.SourceKey{Kind: "GitRepository", Name: name} }

// lattice has layers of two GitRepositories, each of which includes both of the next layer: as many ways lead down as there are subsets of the layers.
func lattice(layers int) map[string][]string {
	out := map[string][]string{}
	for i := range layers {
		below := []string{fmt.Sprint("a", i+1), fmt.Sprint("b", i+1)}
		out[fmt.Sprint("a", i)], out[fmt.Sprint("b", i)] = below, below
	}
	return out
}

// TestALookIsAskedOfEachIncludedSourceOnce where sources include each other, and where many ways lead to one.
func TestALookIsAskedOfEachIncludedSourceOnce(t *testing.T) {
	for name, includes := range map[string]map[string][]string{
		"itself":        {"a0": {"a0"}},
		"each other":    {"a0": {"b0"}, "b0": {"a0"}},
		"by many paths": lattice(40),
	} {
		c := includingRepositories(t, includes)
		c.Process.Mode = policy.Observe // the statuses are another controller's
		c.requestFetch(repository("a0"))
		for at, e := range c.sourceSet {
			if reached := name != "by many paths" || at.Name != "b0"; e.wanted.IsZero() == reached {
				t.Errorf("%s: a look at %s is asked for: %t", name, at, !reached)
			}
		}
	}
}

func TestACycleOfIncludesIsFoundAmongManyPaths(t *testing.T) {
	c := includingRepositories(t, lattice(40))
	if cycle := c.includeCycle(repository("a0")); cycle != nil {
		t.Errorf("a cycle is found where there is none: %s", joinKeys(cycle))
	}
	c.sourceSet[repository("b39")].includes = []app.SourceKey{repository("b38")}
	if cycle := c.includeCycle(repository("a0")); cycle != nil {
		t.Errorf("what includes a cycle is a member of none: %s", joinKeys(cycle))
	}
	if diff := cmp.Diff([]app.SourceKey{repository("b38"), repository("b39"), repository("b38")}, c.includeCycle(repository("b38"))); diff != "" {
		t.Error(diff)
	}
}
