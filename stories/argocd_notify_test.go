package stories

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
)

// argoNotifications are Argo CD's ConfigMap and Secret, with services at the endpoint.
const argoNotifications = `
apiVersion: v1
kind: Secret
metadata: {name: argocd-notifications-secret, namespace: %[1]s}
stringData: {slack-token: CANARY-slack-token, bot-token: CANARY-bot-token, room: "%[2]s/space/CANARY-room"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-notifications-cm, namespace: %[1]s}
data:
  service.slack: |
    token: $slack-token
    apiURL: %[2]s/api
  service.webhook.hub: |
    url: %[2]s/hub
  service.webex: |
    apiURL: %[2]s/webex
    token: $bot-token
  service.grafana: |
    apiUrl: %[2]s/grafana/api
    apiKey: $bot-token
  service.googlechat: |
    webhooks: {ops: $room}
  service.mattermost: |
    apiURL: %[2]s/mattermost
    token: $bot-token
  service.opsgenie: |
    apiUrl: %[2]s/opsgenie
    apiKeys: {ops: $bot-token}
  service.alertmanager: |
    targets: ["%[3]s"]
    bearerToken: $bot-token
  trigger.on-sync-failed: |
    - when: app.status.operationState != nil and app.status.operationState.phase in ['Error', 'Failed']
      send: [failed]
  trigger.on-deployed: |
    - when: app.status.operationState != nil and app.status.operationState.phase in ['Succeeded'] and app.status.health.status == 'Healthy'
      oncePer: app.status?.operationState?.syncResult?.revision
      send: [deployed]
  trigger.on-author: |
    - when: repo.GetCommitMetadata(app.status.sync.revision).Message == 'change my-app.yaml'
      oncePer: repo.GetCommitMetadata(app.status.sync.revision).Author
      send: [author]
    - when: repo.GetCommitMetadata('0000000000000000000000000000000000000000').Author != ''
      send: [author]
  trigger.on-deleted: |
    - when: app.metadata.deletionTimestamp != nil
      send: [deleted]
  subscriptions: |
    - recipients: [hub]
      triggers: [on-deleted]
      selector: story
  template.deleted: |
    webhook:
      hub: {method: POST, path: "/deleted/{{.app.metadata.name}}"}
  template.author: |
    webhook:
      hub: {method: POST, path: /author, body: "{{(call .repo.GetCommitMetadata .app.status.sync.revision).Message}}"}
  template.failed: |
    message: "{{.app.metadata.name}} failed: {{.app.status.operationState.message}}"
    alertmanager: {labels: {app: "{{.app.metadata.name}}"}}
    opsgenie: {priority: P2}
  template.deployed: |
    webhook:
      hub: {method: POST, path: /deployed, body: "{\"revision\": \"{{.app.status.operationState.syncResult.revision}}\", \"by\": \"{{(call .repo.GetCommitMetadata .app.status.operationState.syncResult.revision).Author}}\"}"}
`

// TestSubscribersOfArgoCDHearOfAnApplication: a sync that fails is one message in each chat, and each revision that is deployed is one at a webhook, with its author, after a
// restart of truce too.
func TestSubscribersOfArgoCDHearOfAnApplication(t *testing.T) {
	w := offArgoWorld(t, document3)
	e := newEndpoint(t)
	w.Apply(t, fmt.Sprintf(argoNotifications, w.ns, e.URL, strings.TrimPrefix(e.URL, "http://")))
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	annotations := `labels: {story: "yes"}, annotations: {notifications.argoproj.io/subscribe.on-sync-failed.slack: general, notifications.argoproj.io/subscribe.on-sync-failed.webex: room1,
    notifications.argoproj.io/subscribe.on-sync-failed.grafana: "web|failed", notifications.argoproj.io/subscribe.on-sync-failed.googlechat: ops, notifications.argoproj.io/subscribe.on-sync-failed.mattermost: channel1,
    notifications.argoproj.io/subscribe.on-sync-failed.opsgenie: ops, notifications.argoproj.io/subscribe.on-sync-failed.alertmanager: "", notifications.argoproj.io/subscribe.on-deployed.hub: "", notifications.argoproj.io/subscribe.on-author.hub: "", notifications.argoproj.io/subscribe.on-nothing.slack: general}, finalizers`
	w.Apply(t, replace(t, w.applicationText("my-app", "apps/my-app", replace(t, automated, "selfHeal: true}", "selfHeal: true}, retry: {limit: 0}")), "finalizers", annotations))
	t.Cleanup(w.removeApps)
	w.inSync("my-app")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	e.await(t, "/hub/deployed", w.repo.Head(), `"by": "Gittest \u003cgittest@example.com\u003e"`)
	w.events("NotificationFailed", "subscription on-nothing.slack:general: argocd-notifications-cm has no trigger.on-nothing")
	w.events("NotificationFailed", "trigger.on-author[1]: repo.GetCommitMetadata: commit 0000000000000000000000000000000000000000 is not among what was fetched")

	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: -3")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Failed"
	})
	failed := e.await(t, "/api/chat.postMessage", "my-app failed: ", "general")
	if strings.Contains(failed, "CANARY") {
		t.Errorf("a credential is in the message: %s", failed)
	}
	for path, want := range map[string]string{
		"/webex/v1/messages": `"roomId":"room1"`, "/grafana/api/annotations": `"web","failed"]`, "/space/CANARY-room": `"cardsV2":`, "/mattermost/api/v4/posts": `"channel_id":"channel1"`,
		"/opsgenie/v2/alerts": `"priority":"P2"`, "/api/v2/alerts": `"app":"my-app"`,
	} {
		if text := e.await(t, path, want); path != "/api/v2/alerts" && !strings.Contains(text, "failed: ") || strings.Contains(text, "CANARY") {
			t.Errorf("at %s came %s", path, text)
		}
	}
	w.refresh("my-app")
	stop()
	w.run(compose.RunOptions{Windows: shortWindows})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("my-app")

	w.edit("apps/my-app/my-app.yaml", "replicas: -3", "replicas: 2")
	w.inSync("my-app")
	e.await(t, "/hub/deployed", w.repo.Head())
	for _, path := range []string{"/api/chat.postMessage", "/webex/v1/messages", "/grafana/api/annotations", "/opsgenie/v2/alerts"} {
		if got := e.at(path); len(got) != 1 {
			t.Errorf("%d messages of one failure at %s: %s", len(got), path, strings.Join(got, "\n"))
		}
	}
	if got := e.at("/hub/deployed"); len(got) != 2 {
		t.Errorf("%d messages of two revisions: %s", len(got), strings.Join(got, "\n"))
	}
	if got := e.at("/hub/author"); len(got) != 1 || got[0] != "change my-app.yaml" {
		t.Errorf("%d messages of one author: %s", len(got), strings.Join(got, "\n"))
	}
	w.removeApps()
	e.await(t, "/hub/deleted/my-app")
	if got := e.at("/hub/deleted/my-app"); len(got) != 1 {
		t.Errorf("%d messages of one Application that is deleted", len(got))
	}
}

// TestArgoCDsOwnControllerGoesFirst: while Argo CD's notification controller runs, truce sends nothing; what held when it ended counts as sent; and those who
// subscribed by the AppProject get what comes after, each revision once, whatever starts again.
func TestArgoCDsOwnControllerGoesFirst(t *testing.T) {
	w := offArgoWorld(t, document3)
	e := newEndpoint(t)
	w.Apply(t, fmt.Sprintf(argoNotifications, w.ns, e.URL, strings.TrimPrefix(e.URL, "http://"))+fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: hub, namespace: %[1]s, annotations: {notifications.argoproj.io/subscribe.on-deployed.hub: ""}}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}], clusterResourceWhitelist: [{group: "*", kind: "*"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-notifications-controller, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: notifications}}
  template: {metadata: {labels: {app: notifications}}, spec: {containers: [{name: a, image: a}]}}
`, w.ns))
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	w.Apply(t, replace(t, w.inProject("hub", automated), "finalizers", `annotations: {notified.notifications.argoproj.io: "{}"}, finalizers`))
	t.Cleanup(w.removeApps)
	healthy := func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "revision") == w.repo.Head() && text(o, "status", "health", "status") == "Healthy"
	}
	w.inSync("my-app")
	w.becomes("my-app", healthy)
	w.refresh("my-app")
	stop()
	w.kubectl("-n", w.ns, "scale", "deployment", "argocd-notifications-controller", "--replicas=0")
	stop = w.run(compose.RunOptions{Windows: shortWindows})
	w.refresh("my-app")
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 2")
	w.becomes("my-app", healthy)
	e.await(t, "/hub/deployed", w.repo.Head())
	stop()
	w.run(compose.RunOptions{Windows: shortWindows})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("my-app")
	w.edit("apps/my-app/my-app.yaml", "replicas: 2", "replicas: 4")
	w.becomes("my-app", healthy)
	e.await(t, "/hub/deployed", w.repo.Head())
	if got := e.at("/hub/deployed"); len(got) != 2 {
		t.Errorf("%d messages, want one for each revision after Argo CD's controller had ended: %s", len(got), strings.Join(got, "\n"))
	}
}

// TestWhoCorrectsTheSettingsOfArgoCDWaitsForNoPause: the server of a service asks for an hour. A corrected Secret ends the pause, and so does a corrected ConfigMap.
func TestWhoCorrectsTheSettingsOfArgoCDWaitsForNoPause(t *testing.T) {
	w := offArgoWorld(t, document3)
	e := newEndpoint(t)
	e.status["/secret/away"], e.status["/settings/away"] = http.StatusServiceUnavailable, http.StatusServiceUnavailable
	settings := func(place string) string {
		return fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-notifications-cm, namespace: %[1]s}
data:
  service.webhook.secret: "url: $address"
  service.webhook.settings: "url: %[2]s/settings/%[3]s"
  trigger.on-deployed: |
    - when: app.status.operationState != nil and app.status.operationState.phase in ['Succeeded']
      oncePer: app.status.sync.revision
      send: [deployed]
  template.deployed: |
    webhook:
      secret: {method: POST, body: "{{.app.metadata.name}}"}
      settings: {method: POST, body: "{{.app.metadata.name}}"}
  subscriptions: |
    - {recipients: [secret, settings], triggers: [on-deployed]}
`, w.ns, e.URL, place)
	}
	w.Apply(t, settings("away")+fmt.Sprintf("---\n{apiVersion: v1, kind: Secret, metadata: {name: argocd-notifications-secret, namespace: %s}, stringData: {address: %q}}\n", w.ns, e.URL+"/secret/away"))
	w.run(compose.RunOptions{Windows: shortWindows})
	w.application("my-app", "apps/my-app", automated)
	w.until("the failures to be said", func() bool {
		return strings.Count(w.kubectl("-n", w.ns, "get", "events", "-o", "yaml"), "503 Service Unavailable") >= 2
	})
	w.kubectl("-n", w.ns, "patch", "secret", "argocd-notifications-secret", "-p", `{"stringData":{"address":"`+e.URL+`/secret/back"}}`)
	e.await(t, "/secret/back", "my-app")
	w.Apply(t, settings("back"))
	e.await(t, "/settings/back", "my-app")
}

// TestAnApplicationThatCannotBeComparedIsAnError: a commit breaks what an Application reads, which is one alert with the cause, and another one repairs it, which closes it.
func TestAnApplicationThatCannotBeComparedIsAnError(t *testing.T) {
	w := offArgoWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "alertmanager", "/oncall", "eventSeverity: error")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.application("my-app", "apps/my-app", automated)
	w.inSync("my-app")
	good := w.repo.Git("show", "HEAD:apps/my-app/my-app.yaml") + "\n"
	w.repo.Commit(map[string]string{"apps/my-app/my-app.yaml": "kind: ["}, "break it")
	w.refresh("my-app")
	w.argoCondition("my-app", "ComparisonError", "my-app.yaml")
	e.await(t, "/oncall", `"reason":"ComparisonError"`, "my-app.yaml", `"severity":"error"`)
	w.repo.Commit(map[string]string{"apps/my-app/my-app.yaml": good}, "repair it")
	w.refresh("my-app")
	w.inSync("my-app")
	w.until("each alert to be closed, also that of the automated operation that failed", func() bool {
		open, closed := alertsOf(t, e.at("/oncall"))
		return open == 0 && closed > 0
	})
}
