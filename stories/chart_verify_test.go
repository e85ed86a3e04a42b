package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/signtest"
)

// TestAChartIsInstalledOnceATrustedSignatureIsThere has a chart of a registry that another authority's certificate has signed at first, by notation: as a
// HelmChart, and as a HelmRelease names it.
func TestAChartIsInstalledOnceATrustedSignatureIsThere(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r := ocitest.New(t)
	r.Demand("robot", password, ocitest.Tokens)
	notary, stranger := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour)), signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	policy := fmt.Sprintf(`{"version": "1.0", "trustPolicies": [{"name": "all", "registryScopes": [%q], "signatureVerification": {"level": "strict"}, "trustStores": ["ca:all"], "trustedIdentities": ["*"]}]}`, r.Host+"/charts/web")
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: policy, namespace: %s}\nstringData: {trustpolicy.json: %q, root.crt: %q}\n", w.ns, policy, notary.Root))
	w.helmRepository("charts", "type: oci\ninsecure: true\nurl: "+r.URL("charts"))
	chart := ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("web", "1.0.0", webChart("1.0.0"))}
	digest := r.PushLayers("charts/web", "1.0.0", nil, chart)
	stranger.Sign(r, "charts/web", digest, signtest.JWS)
	const spec = "chart: web\nversion: 1.x\nverify: {provider: notation, secretRef: {name: policy}}\nsourceRef: {kind: HelmRepository, name: charts}"
	w.chart("own", spec)
	w.releaseOf("named", spec+"\ninterval: 1s")
	w.sourceReason(helmCharts, "own", "VerificationError")
	w.releaseSays("own", "False", "accepts no signature of it")
	w.releaseSays("named", "False", "accepts no signature of it")

	notary.Sign(r, "charts/web", digest, signtest.COSE)
	w.annotate(helmCharts, "own", "reconcile.fluxcd.io/requestedAt", "now")
	w.releaseSays("own", "True", "with chart web@1.0.0")
	w.releaseSays("named", "True", "with chart web@1.0.0")
}
