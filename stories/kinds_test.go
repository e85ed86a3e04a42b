package stories

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/kinds.yaml
var everyKind string

// notApplied are kinds that the server keeps nothing of, and one that only a node can make, with a proof by its key.
var notApplied = []string{
	"PodCertificateRequest",
	"Binding", "TokenReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SelfSubjectReview", "SubjectAccessReview",
}

// TestNoBuiltInKindDrifts applies one small object of every built-in kind, written in the ways in which people write them, and then
// looks again and again: what the server, its admission and its controllers make of an object is no drift.
func TestNoBuiltInKindDrifts(t *testing.T) {
	w := offClusterWorld(t, "-- app/kustomization.yaml --\nresources: [all.yaml]\n")
	served, versions := w.builtInKinds()
	request, certificate := certificates(t)
	text := strings.NewReplacer(
		"NAME", w.ns, "REQUEST", request, "CERTIFICATE", certificate, "RULES", versions["DeviceTaintRule"],
		"MIGRATION", versions["StorageVersionMigration"], "BUNDLE", versions["ClusterTrustBundle"],
	).Replace(everyKind)
	w.repo.Commit(map[string]string{"app/all.yaml": text}, "one of each")
	kinds := kindsIn(t, text)
	for _, kind := range served {
		if !slices.Contains(kinds, kind) {
			t.Errorf("testdata/kinds.yaml has no %s", kind)
		}
	}
	stop := w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	before := len(w.objectWrites())
	w.steady("app", w.short(3, 20))
	stop()
	w.start(policy.Policy{}) // one that remembers nothing
	t.Cleanup(w.removeApps)
	w.steady("app", 2)
	t.Logf("%d built-in kinds: %d differences, %d writes after the first", len(served), w.drifts("app"), len(w.objectWrites())-before)
}

// drifts counts the objects that the app reports as different from Git.
func (w *world) drifts(name string) int {
	w.t.Helper()
	n := 0
	for _, c := range entries(w.get(kustomizations, name), "status", "conditions") {
		if c["type"] == "Drifted" && c["status"] == "True" {
			w.t.Errorf("drift: %v", c["message"])
			n++
		}
	}
	return n
}

func kindsIn(t *testing.T, text string) (out []string) {
	t.Helper()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		group, _, grouped := strings.Cut(o.APIVersion, "/")
		if !grouped {
			group = ""
		}
		out = append(out, o.Kind+"."+group)
	}
	return out
}

// builtInKinds lists the kinds of the server's own that can be created and kept, as Kind.group, and the version of each.
func (w *world) builtInKinds() (out []string, versions map[string]string) {
	w.t.Helper()
	versions = map[string]string{}
	d, err := discovery.NewDiscoveryClientForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil {
		w.t.Logf("discovery of what others serve: %v", err)
	}
	for _, list := range lists {
		group, version, grouped := strings.Cut(list.GroupVersion, "/")
		if !grouped {
			group, version = "", group
		}
		own := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
		for _, r := range list.APIResources {
			if own && !strings.Contains(version, "alpha") && group != "metrics.k8s.io" && slices.Contains(r.Verbs, "create") && !slices.Contains(notApplied, r.Kind) {
				out = append(out, r.Kind+"."+group)
				versions[r.Kind] = version
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), versions
}

// certificates are a request that the server takes, and a certificate as a part of a YAML text in quotes.
func certificates(t *testing.T) (request, certificate string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "story"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "story"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	request = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))
	return request, strings.ReplaceAll(certificate, "\n", "\\n")
}
