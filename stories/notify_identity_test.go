package stories

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// asUsersRunIt returns what a process needs in its environment to take the services of the story for those of the vendors and clouds.
func asUsersRunIt(t *testing.T, c *cloudtest.Clouds) []string {
	t.Helper()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, []byte(c.CA), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"HTTPS_PROXY=" + c.Proxy, "NO_PROXY=", "SSL_CERT_FILE=" + roots,
		"GCE_METADATA_HOST=" + strings.TrimPrefix(c.Plain, "http://"), "AZURE_POD_IDENTITY_AUTHORITY_HOST=" + c.Plain,
	}
}

// takeAt has the endpoint take what is sent to a host, below a path of that name, if the token was given for a scope. An empty scope is for services that know another way.
func (e *endpoint) takeAt(c *cloudtest.Clouds, host, scope string) {
	c.Serve(host, http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		if scope != "" && c.Bearer(q) != scope {
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = rw.Write([]byte("the token is for " + c.Bearer(q) + ": " + q.Header.Get("Authorization")))
			return
		}
		q.URL.Path = "/" + host + q.URL.Path
		e.Config.Handler.ServeHTTP(rw, q)
	}))
}

// tokenText is a JSON web token, or one of the story's clouds.
var tokenText = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.|token-[0-9]+-of-a-cloud`)

// TestAMessageIsSentByAnIdentity: Event Hubs, Pub/Sub and the statuses of Azure DevOps are reached by a ServiceAccount and by the controller's own identity. Each token is exchanged
// at a cloud of the story, which verifies that of the API server; truce runs as users have it, and its environment alone leads it there. No token is said anywhere.
func TestAMessageIsSentByAnIdentity(t *testing.T) {
	const client, email = "11111111-2222-3333-4444-555555555555", "sender@acme.iam.gserviceaccount.com"
	const pool = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster"
	const devOps = "499b84ac-1321-427f-aa17-267ca6975798"
	w := offWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	c, e := startClouds(t), newEndpoint(t)
	for host, scope := range map[string]string{
		"by-account.servicebus.windows.net": "https://eventhubs.azure.net", "by-itself.servicebus.windows.net": "https://eventhubs.azure.net", "dev.azure.com": devOps,
	} {
		e.takeAt(c, host, scope)
	}
	pubSub := map[string]string{"by-account": cloudtest.GoogleAccount, "by-itself": cloudtest.GoogleMachine}
	c.Serve("pubsub.googleapis.com", http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		if project := strings.Split(q.URL.Path, "/")[3]; c.Bearer(q) != pubSub[project] {
			rw.WriteHeader(http.StatusForbidden)
			_, _ = rw.Write([]byte("PERMISSION_DENIED: " + q.Header.Get("Authorization")))
			return
		}
		q.URL.Path = "/pubsub" + q.URL.Path
		e.Config.Handler.ServeHTTP(rw, q)
	}))
	c.Allow(client, w.user("sender"))
	c.Allow("//iam.googleapis.com/"+pool, w.user("sender"))
	c.Allow(email, "impersonated")
	for _, account := range []string{"sender", "stranger"} {
		w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s, annotations: {azure.workload.identity/client-id: %q, azure.workload.identity/tenant-id: %q,
iam.gke.io/gcp-service-account: %q, gcp.auth.fluxcd.io/workload-identity-provider: %q}}}`, account, w.ns, client, cloudtest.Tenant, email, pool))
	}
	for name, spec := range map[string]string{
		"hub-account":      "type: azureeventhub, address: hub, channel: by-account, serviceAccountName: sender",
		"hub-itself":       "type: azureeventhub, address: hub, channel: by-itself",
		"topic-account":    "type: googlepubsub, address: by-account, channel: topic, serviceAccountName: sender",
		"topic-itself":     "type: googlepubsub, address: by-itself, channel: topic",
		"status-account":   "type: azuredevops, address: 'https://dev.azure.com/org/by-account/_git/fleet', serviceAccountName: sender",
		"status-itself":    "type: azuredevops, address: 'https://dev.azure.com/org/by-itself/_git/fleet'",
		"status-elsewhere": "type: azuredevops, address: 'https://tfs.example.com/org/project/_git/fleet', serviceAccountName: sender",
		"hub-stranger":     "type: azureeventhub, address: hub, channel: by-account, serviceAccountName: stranger",
		"topic-stranger":   "type: googlepubsub, address: by-account, channel: topic, serviceAccountName: stranger",
		"status-stranger":  "type: azuredevops, address: 'https://dev.azure.com/org/by-account/_git/fleet', serviceAccountName: stranger",
	} {
		w.Apply(t, fmt.Sprintf(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: %[1]s, namespace: %[2]s}
spec: {%[3]s}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  providerRef: {name: %[1]s}
  eventSources: [{kind: Kustomization, name: "*"}]
`, name, w.ns, spec))
	}
	env := asUsersRunIt(t, c)
	p := w.inProcess(env)
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.ready("app")
	for _, who := range []string{"by-account", "by-itself"} {
		e.await(t, "/"+who+".servicebus.windows.net/hub/messages", "ReconciliationSucceeded")
		e.await(t, "/pubsub/v1/projects/"+who+"/topics/topic:publish", `"data":`)
		e.await(t, "/dev.azure.com/org/"+who+"/_apis/git/repositories/fleet/commits/"+w.repo.Head()+"/statuses", `"state":"succeeded"`)
	}
	for name, want := range map[string]string{"hub-stranger": "AADSTS70025", "status-stranger": "AADSTS70025", "topic-stranger": "The audience in ID Token does not match", "status-elsewhere": "no https:// URL of Azure DevOps"} {
		w.await(w.Watch(t, providers, w.ns, name), func(o *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), want)
		})
	}
	tried := ""
	for name, want := range map[string]string{"hub-account": "DriftCorrected   yes", "topic-account": "DriftCorrected   yes", "hub-itself": "this process is another one", "hub-stranger": "AADSTS70025"} {
		code, said := w.commandIn(env, "notify", "test", name, "--event", "DriftCorrected")
		if wanted := strings.HasSuffix(want, "yes"); !strings.Contains(said, want) || (code == 0) != wanted {
			t.Errorf("notify test %s: %d %s", name, code, said)
		}
		tried += said
	}
	for what, text := range map[string]string{"the log": p.said(), "a test": tried, "the cluster": w.kubectl("get", "providers,alerts,events,kustomizations", "-o", "yaml"), "a message": fmt.Sprint(e.bodies)} {
		if token := tokenText.FindString(text); token != "" {
			t.Errorf("%s has the token %s", what, token)
		}
	}
}

// TestATokenThatIsRejectedIsReplaced: a token that the cloud has taken back holds up the messages for no longer than another one takes.
func TestATokenThatIsRejectedIsReplaced(t *testing.T) {
	const client = "11111111-2222-3333-4444-555555555555"
	w := offWorld(t, configMaps("app", "a"))
	c, e := startClouds(t), newEndpoint(t)
	e.takeAt(c, "acme-events.servicebus.windows.net", "https://eventhubs.azure.net")
	c.Allow(client, w.user("sender"))
	w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: sender, namespace: %[1]s, annotations: {azure.workload.identity/client-id: %[2]q, azure.workload.identity/tenant-id: %[3]q}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: way, namespace: %[1]s}, stringData: {address: %[4]q, ca.crt: %[5]q}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: hub, namespace: %[1]s}
spec: {type: azureeventhub, address: hub, channel: acme-events, serviceAccountName: sender, proxySecretRef: {name: way}, certSecretRef: {name: way}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: hub, namespace: %[1]s}
spec: {providerRef: {name: hub}, eventSources: [{kind: Kustomization, name: "*"}]}
`, w.ns, client, cloudtest.Tenant, c.Proxy, c.CA))
	w.run(compose.RunOptions{Windows: shortWindows, Clouds: cloud.Environment{"AZURE_AUTHORITY_HOST": c.Host("login.microsoftonline.com")}})
	w.app("app", "./app", defaultSpec)
	const at = "/acme-events.servicebus.windows.net/hub/messages"
	e.await(t, at, "ReconciliationSucceeded", w.repo.Head())
	c.Revoke()
	w.edit("app/a.yaml", `"k":"a"`, `"k":"b"`)
	e.await(t, at, "ReconciliationSucceeded", w.repo.Head())
	w.tellsNoKeys(c, "providers")
}

// TestATenantsProviderHasNoIdentityOfTheController: with --default-service-account a Provider that names no account has the identity of that one, by a proxy of its own too, and the
// controller's is not asked for.
func TestATenantsProviderHasNoIdentityOfTheController(t *testing.T) {
	const client = "11111111-2222-3333-4444-555555555555"
	w := offWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	c, e := startClouds(t), newEndpoint(t)
	e.takeAt(c, "tenant-events.servicebus.windows.net", "https://eventhubs.azure.net")
	c.Allow(client, w.user("tenant"))
	w.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: tenant, namespace: %[1]s}}
---
{apiVersion: v1, kind: Secret, metadata: {name: way, namespace: %[1]s}, stringData: {address: %[2]q}}
`, w.ns, c.Proxy))
	for name, further := range map[string]string{"direct": "", "way": ", proxySecretRef: {name: way}"} {
		w.Apply(t, fmt.Sprintf(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: %[1]s, namespace: %[2]s}
spec: {type: azureeventhub, address: %[1]s, channel: tenant-events%[3]s}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: %[1]s, namespace: %[2]s}
spec: {providerRef: {name: %[1]s}, eventSources: [{kind: Kustomization, name: "*"}]}
`, name, w.ns, further))
	}
	w.inProcess(asUsersRunIt(t, c), "--default-service-account", "tenant")
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	for _, name := range []string{"direct", "way"} {
		w.await(w.Watch(t, providers, w.ns, name), func(o *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "ServiceAccount "+w.ns+"/tenant at Azure: it lacks the annotation azure.workload.identity/tenant-id")
		})
	}
	w.kubectl("annotate", "serviceaccount", "tenant", "azure.workload.identity/client-id="+client, "azure.workload.identity/tenant-id="+cloudtest.Tenant)
	for _, name := range []string{"direct", "way"} {
		e.await(t, "/tenant-events.servicebus.windows.net/"+name+"/messages", `"severity":"error"`)
	}
	for _, q := range c.Requests() {
		if strings.Contains(q, " metadata/") {
			t.Errorf("the identity of the controller was asked for: %s", q)
		}
	}
}
