package cli

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/endpoint"
	"github.com/truce-gitops/truce/internal/model/exit"
)

func TestNamespacesAreNamedOnceAndWell(t *testing.T) {
	got, err := namespaces([]string{"team-b", "team-a", "team-b"})
	if diff := cmp.Diff(cluster.Namespaces{"team-b", "team-a"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, good := range []string{"", "truce-system"} {
		if err := checkRuntime(good); err != nil {
			t.Errorf("--runtime-namespace %q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "Team", "a.b", "*"} {
		_, err := namespaces([]string{"team-a", bad})
		coded := (*exit.Error)(nil)
		if !errors.As(err, &coded) || coded.Code != exit.Usage {
			t.Errorf("--namespace %q: %v", bad, err)
		}
		if err := checkRuntime(bad); bad != "" && (!errors.As(err, &coded) || coded.Code != exit.Usage) {
			t.Errorf("--runtime-namespace %q: %v", bad, err)
		}
	}
}

// TestThePageServiceLeadsToAnAddressThatOthersReach: one that leads to this pod's own loopback address leads nowhere.
func TestThePageServiceLeadsToAnAddressThatOthersReach(t *testing.T) {
	const service = "truce-system/truce-page"
	for what, x := range map[string]struct {
		service, listen, pod string
		want                 endpoint.Place
		refused              bool
	}{
		"none":                   {listen: "127.0.0.1:8081"},
		"a Service":              {service: service, listen: "0.0.0.0:8081", pod: "10.0.0.7", want: endpoint.Place{Namespace: "truce-system", Service: "truce-page", Pod: "10.0.0.7"}},
		"every address":          {service: service, listen: ":8081", pod: "10.0.0.7", want: endpoint.Place{Namespace: "truce-system", Service: "truce-page", Pod: "10.0.0.7"}},
		"a loopback address":     {service: service, listen: "127.0.0.1:8081", pod: "10.0.0.7", refused: true},
		"localhost":              {service: service, listen: "localhost:8081", pod: "10.0.0.7", refused: true},
		"no page":                {service: service, pod: "10.0.0.7", refused: true},
		"no namespace":           {service: "truce-page", listen: "0.0.0.0:8081", pod: "10.0.0.7", refused: true},
		"no address of this pod": {service: service, listen: "0.0.0.0:8081", refused: true},
	} {
		t.Setenv("POD_IP", x.pod)
		got, err := pageService(x.service, x.listen)
		if x.refused {
			if coded := (*exit.Error)(nil); !errors.As(err, &coded) || coded.Code != exit.Usage {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if diff := cmp.Diff(x.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
}
