package up

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// olderFlux has a definition of a kind at a version before the one that truce reads.
const olderFlux = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ocirepositories.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  names: {kind: OCIRepository, listKind: OCIRepositoryList, plural: ocirepositories, singular: ocirepository}
  scope: Namespaced
  versions:
  - {name: v1beta2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// steps are those that were printed. It ends a context at the first that begins with a text.
type steps struct {
	all  []string
	at   string
	stop context.CancelFunc
}

func (s *steps) Step(text string) {
	s.all = append(s.all, text)
	if s.stop != nil && strings.HasPrefix(text, s.at) {
		s.stop()
	}
}

// TestAnOlderFluxKeepsItsDefinitions installs the CRDs beside one of Flux that does not serve the version that truce reads, first with an
// end on the way: what was brought until then is listed.
func TestAnOlderFluxKeepsItsDefinitions(t *testing.T) {
	c := kubetest.Another(t)
	c.ApplyAs(t, "kustomize-controller", olderFlux)
	begin := func(to *steps) *starting {
		return &starting{
			options: Options{Options: manager.Options{Target: cluster.Target{Kubeconfig: c.Kubeconfig}}}, steps: to, world: &Environment{}, foreign: true,
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cut := begin(&steps{at: "brought ", stop: cancel})
	if err := cut.install(ctx); err == nil || len(cut.world.Brought) != 1 || !strings.HasPrefix(cut.world.Brought[0], "CustomResourceDefinition/") {
		t.Errorf("an install that was ended at the first definition: error %v, brought %q", err, cut.world.Brought)
	}

	said := &steps{}
	s := begin(said)
	if err := s.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	const name = "ocirepositories.source.toolkit.fluxcd.io"
	if slices.Contains(s.world.Brought, "CustomResourceDefinition/"+name) || len(s.world.Brought) < 5 {
		t.Errorf("brought %q", s.world.Brought)
	}
	if want := fmt.Sprintf("the cluster's %s does not serve v1: truce reads no OCIRepository until it does", name); !slices.Contains(said.all, want) {
		t.Errorf("not said: %q in %q", want, said.all)
	}
	if got := c.Kubectl(t, "get", "crd", name, "-o", "jsonpath={.spec.versions[*].name}"); got != "v1beta2" {
		t.Errorf("the definition of Flux serves %q", got)
	}
}
