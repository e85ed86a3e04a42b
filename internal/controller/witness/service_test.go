package witness

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide/attribution"
)

// TestTheServiceLeadsToThisPod is about the configuration, the Service of deploy/witness and the EndpointSlice: without a pod network
// nothing else shows that they are about one way.
func TestTheServiceLeadsToThisPod(t *testing.T) {
	var service struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Selector map[string]string
			Ports    []struct {
				Name, Protocol string
				Port           int64
				TargetPort     int64
			}
		}
	}
	text, err := os.ReadFile("../../../deploy/witness/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &service); err != nil {
		t.Fatal(err)
	}
	flags, err := os.ReadFile("../../../deploy/witness/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	name := service.Metadata.Namespace + "/" + service.Metadata.Name
	if !strings.Contains(string(flags), "--witness-service="+name) {
		t.Errorf("the flags do not name the Service %s", name)
	}
	if len(service.Spec.Selector) > 0 || len(service.Spec.Ports) != 1 {
		t.Fatalf("%+v", service)
	}
	port := service.Spec.Ports[0]
	listen := &net.TCPAddr{IP: net.IPv4zero, Port: int(port.TargetPort)}
	if !strings.Contains(string(flags), "--witness-listen="+listen.String()) {
		t.Errorf("nobody listens at the Service's port %d", port.TargetPort)
	}
	for pod, family := range map[string]string{"10.0.0.7": "IPv4", "fd00::7": "IPv6"} {
		k, host, err := newRegistrar(Options{Home: "truce-system", Place: attribution.Place{Service: name, Pod: pod}}, listen)
		if err != nil {
			t.Fatal(err)
		}
		hooks, _ := k.setup.Configuration()["webhooks"].([]any)
		hook, _ := hooks[0].(map[string]any)
		to, _ := hook["clientConfig"].(map[string]any)["service"].(map[string]any)
		if to["namespace"] != service.Metadata.Namespace || to["name"] != service.Metadata.Name || to["port"] != port.Port || to["path"] != k.setup.Path+attribution.Probe {
			t.Errorf("the configuration leads to %v, the Service is %+v", to, service)
		}
		if host != service.Metadata.Name+"."+service.Metadata.Namespace+".svc" {
			t.Errorf("the certificate is for %s", host)
		}
		want := map[string]any{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
			"metadata": map[string]any{"name": service.Metadata.Name, "namespace": service.Metadata.Namespace, "labels": map[string]any{
				"kubernetes.io/service-name": service.Metadata.Name, "endpointslice.kubernetes.io/managed-by": "truce-controller",
			}},
			"endpoints": []any{map[string]any{"addresses": []any{pod}, "conditions": map[string]any{"ready": true}}},
			"ports":     []any{map[string]any{"name": port.Name, "protocol": port.Protocol, "port": port.TargetPort}},
		}
		place, at := k.endpoint()
		if diff := cmp.Diff(want, map[string]any(place.Slice(at))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAProbeIsHeardAndNotRecorded(t *testing.T) {
	ring := newRing()
	r := newReceiver("/secret", ring)
	allowed(t, post(r, "/secret"+attribution.Probe, scale("r1", "alice", 5)), "r1")
	if got := ring.Of(web); len(got) > 0 || len(r.heard) != 1 {
		t.Errorf("heard: %d; %+v", len(r.heard), got)
	}
	if post(r, "/secret", scale("r2", "alice", 5)); len(r.heard) != 1 || len(ring.Of(web)) != 1 {
		t.Error("a review is taken for a probe")
	}
}
