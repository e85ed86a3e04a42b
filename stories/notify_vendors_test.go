package stories

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// vendorProviders are Providers without an address, or with that of the vendor's pages: the fields of their spec, and the host and path of the vendor's API.
var vendorProviders = map[string]struct{ spec, at, text string }{
	"telegram":  {"type: telegram, channel: '-100'", "/api.telegram.org/botCANARY-t0ken/sendMessage", "absent"},
	"webex":     {"type: webex, channel: room", "/webexapis.com/v1/messages", "absent"},
	"pagerduty": {"type: pagerduty, channel: CANARY-key", "/events.pagerduty.com/v2/enqueue", "absent"},
	"opsgenie":  {"type: opsgenie", "/api.opsgenie.com/v2/alerts", "absent"},
	"datadog":   {"type: datadog", "/api.datadoghq.com/api/v1/events", "absent"},
	"slack":     {"type: slack, channel: general, address: 'https://slack.com/api/chat.postMessage'", "/slack.com/api/chat.postMessage", "absent"},
	"github":    {"type: github, address: 'https://github.com/org/fleet'", "/api.github.com/repos/org/fleet/statuses/", `"state":"success"`},
	"gitlab":    {"type: gitlab, address: 'https://gitlab.com/1234'", "/gitlab.com/api/v4/projects/1234/statuses/", `"state":"success"`},
	"bitbucket": {"type: bitbucket, address: 'https://bitbucket.org/org/fleet'", "/api.bitbucket.org/2.0/repositories/org/fleet/commit/", `"state":"SUCCESSFUL"`},
}

// vendorServices are Argo CD's services whose address no setting names, with a template that all of them have.
const vendorServices = `
apiVersion: v1
kind: Secret
metadata: {name: argocd-notifications-secret, namespace: NAMESPACE}
stringData: {token: CANARY-t0ken}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-notifications-cm, namespace: NAMESPACE}
data:
  service.telegram: "{token: $token}"
  service.pushover: "{token: $token}"
  service.pagerdutyv2: "{serviceKeys: {ops: $token}}"
  service.pagerduty: "{token: $token, from: ops@example.com}"
  service.newrelic: "{apiKey: $token}"
  trigger.on-deployed: |
    - when: app.status.operationState != nil and app.status.operationState.phase == 'Succeeded'
      oncePer: app.status.sync.revision
      send: [deployed]
  template.deployed: |
    message: "{{.app.metadata.name}} is deployed"
    pagerdutyv2: {summary: "{{.app.metadata.name}} is deployed", severity: info, source: "{{.app.metadata.name}}"}
    pagerduty: {title: "{{.app.metadata.name}} is deployed"}
    newrelic: {revision: "{{.app.status.sync.revision}}", description: "{{.app.metadata.name}} is deployed"}
  subscriptions: |
    - recipients: ["telegram:-200", "pushover:user", "pagerdutyv2:ops", "pagerduty:PSERVICE", "newrelic:42"]
      triggers: [on-deployed]
`

// TestVendorsAreReachedAtTheirOwnAddresses: what a vendor documents as the only address of its API is where a message goes, by a Provider and by a service of Argo CD, with the
// certificates of the machine and by its proxy. Truce runs as users have it; its environment alone leads it to the vendors of this test.
func TestVendorsAreReachedAtTheirOwnAddresses(t *testing.T) {
	w := offArgoWorld(t, configMaps("app", "a")+configMaps("other", "b")+"-- app/kustomization.yaml --\nresources: [a.yaml, absent.yaml]\n")
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	c, e := startClouds(t), newEndpoint(t)
	for _, host := range []string{
		"api.telegram.org", "webexapis.com", "events.pagerduty.com", "api.pagerduty.com", "api.opsgenie.com", "api.datadoghq.com", "slack.com", "api.github.com", "gitlab.com", "api.bitbucket.org", "api.pushover.net", "api.newrelic.com",
	} {
		e.takeAt(c, host, "")
	}
	for name, p := range vendorProviders {
		w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: %[2]s}
stringData: {token: CANARY-t0ken}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: %[1]s, namespace: %[2]s}
spec: {%[3]s, secretRef: {name: %[1]s}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: %[1]s, namespace: %[2]s}
spec: {providerRef: {name: %[1]s}, eventSources: [{kind: Kustomization, name: "*"}]}
`, name, w.ns, p.spec))
	}
	w.Apply(t, strings.ReplaceAll(vendorServices, "NAMESPACE", w.ns))
	p := w.inProcess(asUsersRunIt(t, c))
	w.source("repo", "url: "+server.URL+"\ninterval: 1s\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	w.Apply(t, strings.ReplaceAll(w.applicationText("other", "other", automated), "file://"+w.repo.Dir, server.URL))
	t.Cleanup(w.removeApps)
	for path, text := range map[string]string{
		"/api.telegram.org/botCANARY-t0ken/sendMessage": "other is deployed", "/api.pushover.net/1/messages.json": "other is deployed", "/events.pagerduty.com/v2/enqueue": "other is deployed",
		"/api.pagerduty.com/incidents": "other is deployed", "/api.newrelic.com/v2/applications/42/deployments.json": "other is deployed",
	} {
		e.await(t, path, text)
	}
	for name, p := range vendorProviders {
		if p.text == "absent" {
			e.hears(t, name, p.at, p.text)
		}
	}
	w.edit("app/kustomization.yaml", ", absent.yaml", "")
	for name, p := range vendorProviders {
		if p.text != "absent" {
			e.hears(t, name, p.at, p.text)
		}
	}
	for name := range vendorProviders {
		w.await(w.Watch(t, providers, w.ns, name), func(o *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "messages are sent")
		})
	}
	for what, text := range map[string]string{"the log": p.said(), "the cluster": w.kubectl("get", "providers,alerts,events,applications,kustomizations", "-o", "yaml")} {
		if strings.Contains(strings.ReplaceAll(text, "channel: CANARY-key", ""), "CANARY") {
			t.Errorf("a credential is in %s", what)
		}
	}
}
