package endpoint

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/cluster"
)

// TestTheServicesOfTheComponentsLeadToThePod is about the Services of deploy, the flags beside them and the EndpointSlice: without a pod network nothing else shows
// that they are about one way.
func TestTheServicesOfTheComponentsLeadToThePod(t *testing.T) {
	for component, flags := range map[string]struct{ listen, service string }{
		"page": {"--listen=", "--page-service="}, "webhook": {"--webhook-addr=", "--webhook-service="},
	} {
		var service struct {
			Metadata struct{ Name, Namespace string }
			Spec     struct {
				Selector map[string]string
				Ports    []struct {
					Name, Protocol string
					TargetPort     int64
				}
			}
		}
		read(t, "../../../deploy/"+component+"/service.yaml", &service)
		text, err := os.ReadFile("../../../deploy/" + component + "/kustomization.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if len(service.Spec.Selector) > 0 || len(service.Spec.Ports) != 1 {
			t.Fatalf("%s: %+v", component, service)
		}
		port := service.Spec.Ports[0]
		place := Place{Namespace: service.Metadata.Namespace, Service: service.Metadata.Name, Pod: "10.0.0.7"}
		for _, want := range []string{flags.listen + "0.0.0.0:" + strconv.FormatInt(port.TargetPort, 10) + `"`, flags.service + place.String() + `"`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no flag %s", component, want)
			}
		}
		ports := place.Slice(Port{"http", port.TargetPort})["ports"]
		if diff := cmp.Diff([]any{map[string]any{"name": port.Name, "protocol": port.Protocol, "port": port.TargetPort}}, ports); diff != "" {
			t.Errorf("%s: the ports of Service and EndpointSlice (-Service +EndpointSlice):\n%s", component, diff)
		}
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// TestTheEndpointSliceIsApplied: as the Service's, with this pod alone, in the place of that of another leader.
func TestTheEndpointSliceIsApplied(t *testing.T) {
	for pod, family := range map[string]string{"10.0.0.7": "IPv4", "fd00::7": "IPv6"} {
		var got map[string]any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPatch || r.URL.Path != "/apis/discovery.k8s.io/v1/namespaces/truce-system/endpointslices/truce-page" || r.URL.Query().Get("force") != "true" {
				http.Error(w, "unexpected "+r.Method+" "+r.URL.String(), http.StatusBadRequest)
				return
			}
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(got) // the test sees what comes of it
		}))
		defer server.Close()
		client, err := cluster.NewClient(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if err := (Place{Namespace: "truce-system", Service: "truce-page", Pod: pod}).Apply(t.Context(), client, Port{"http", 8081}); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
			"metadata": map[string]any{"name": "truce-page", "namespace": "truce-system", "labels": map[string]any{
				"kubernetes.io/service-name": "truce-page", "endpointslice.kubernetes.io/managed-by": "truce-controller",
			}},
			"endpoints": []any{map[string]any{"addresses": []any{pod}, "conditions": map[string]any{"ready": true}}},
			"ports":     []any{map[string]any{"name": "http", "protocol": "TCP", "port": float64(8081)}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", family, diff)
		}
	}
}
