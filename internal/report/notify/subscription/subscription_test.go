package subscription_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var out T
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWhatSubscribersGet: which conditions hold, and the request that each recipient gets.
func TestWhatSubscribersGet(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		config, problems := subscription.Parse(decode[map[string]string](t, in.Need(t, "cm.yaml")))
		config.SetContext("argocdUrl", "https://argocd.example.com")
		secret := map[string][]byte{}
		for key, value := range decode[map[string]string](t, in["secret.yaml"]) {
			secret[key] = []byte(value)
		}
		app := decode[map[string]any](t, in.Need(t, "app.yaml"))
		commits := decode[map[string]subscription.Commit](t, in["commits.yaml"])
		subject := &subscription.Subject{App: app, Now: noon, Commit: func(hash string) (subscription.Commit, error) {
			if c, there := commits[hash]; there {
				return c, nil
			}
			return subscription.Commit{}, fmt.Errorf("commit %s is not there", hash)
		}}
		subscriber := subscription.Subscriber{
			Annotations: textsOf(app, "annotations"), Labels: textsOf(app, "labels"), Project: decode[map[string]string](t, in["project.yaml"]),
		}
		var b strings.Builder
		for _, p := range problems {
			fmt.Fprintf(&b, "problem: %s\n", p)
		}
		outcomes, faults := config.Judge(subject, config.Of(subscriber))
		for _, err := range faults {
			fmt.Fprintf(&b, "fault: %v\n", err)
		}
		for _, o := range outcomes {
			fmt.Fprintf(&b, "== %s condition %d holds %v, once per %q\n", o.Subscription, o.Condition, o.Holds, o.OncePer)
			if o.Holds {
				b.WriteString(requestsOf(config, subject, o, secret))
			}
		}
		return b.String()
	})
}

func textsOf(app map[string]any, place string) map[string]string {
	metadata, _ := app["metadata"].(map[string]any)
	all, _ := metadata[place].(map[string]any)
	out := map[string]string{}
	for key, v := range all {
		out[key], _ = v.(string)
	}
	return out
}

// requestsOf prints what a recipient gets.
func requestsOf(config *subscription.Config, subject *subscription.Subject, o subscription.Outcome, secret map[string][]byte) string {
	forms, err := config.Forms(subject, o)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	p, _, err := config.Provider(route.Key{Namespace: "argocd", Name: "x"}, o.Service, o.Recipient, secret)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, f := range forms {
		m := notify.Message{About: object.ID{Kind: "Application", Namespace: "argocd", Name: "web"}, At: noon}
		m.Reason, m.Severity = o.Trigger, subscription.Severity(subject.App)
		r, err := deliver.ShowRequest(p, payload.JoinMessages(p.Type, []route.Note{{Message: m, Form: &f}})[0])
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s %s %v\n", r.Method, r.URL, slices.Sorted(maps.Keys(r.Headers)))
		fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(string(r.Body), "\r", ""))
	}
	return b.String()
}

// TestWhatAConditionMayNotContain: each of these would take time or memory without end.
func TestWhatAConditionMayNotContain(t *testing.T) {
	for name, text := range map[string]string{
		"ranges":     `len(1..1000000000) > 0`,
		"predicates": `any(app.a, {any(app.a, {any(app.a, {true})})})`,
		"variables":  `let a = app.x + app.x; let b = a + a; b == ""`,
		"repetition": `repeat("x", 1000) == ""`,
		"reduction":  `reduce(app.list, #acc + #acc, "xx") == ""`,
		"writing":    `toJSON(map(app.list, app.list)) == ""`,
		"length":     strings.Repeat("true and ", 1000) + "true",
		"nonsense":   `app.x ==`,
	} {
		_, problems := subscription.Parse(map[string]string{"trigger.x": "- when: '" + text + "'\n  send: [x]"})
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "trigger.x: when: ") {
			t.Errorf("%s: %q", name, problems)
		}
	}
}

// TestATemplateThatLoopsEnds: with an error, and soon.
func TestATemplateThatLoopsEnds(t *testing.T) {
	for name, text := range map[string]string{
		"a number":                `{{range 1000000000}}{{end}}`,
		"a text":                  `{{range 1000000}}xxxxxxxxxx{{end}}`,
		"itself":                  `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`,
		"a width":                 `{{printf "%1000000000d" 1}}`,
		"repeat":                  `{{repeat 1000000000 "x"}}`,
		"the clock":               `{{now}}`,
		"env":                     `{{env "HOME"}}`,
		"a layout":                `{{range 300000}}{{$x := (call $.time.Now).UTC.Format "` + strings.Repeat("January ", 5000) + `"}}{{end}}`,
		"a text that is a layout": `{{$l := print "x"}}{{(call .time.Now).Format $l}}`,
		"a layout from before":    `{{print "x" | (call .time.Now).UTC.Format}}`,
		"a layout in an argument": `{{if eq "x" ((call .time.Now).Format .app.metadata.name)}}{{end}}`,
		"a layout that is made":   `{{with $t := call .time.Now}}{{else}}{{end}}{{range list 1}}{{(call $.time.Now).Format (print "x")}}{{end}}`,
		"doubling":                `{{$a := "xxxxxxxxxxxxxxxx"}}` + strings.Repeat(`{{$a = print $a $a}}`, 60),
	} {
		config, problems := subscription.Parse(map[string]string{
			"trigger.x": "- when: 'true'\n  send: [x]", "template.x": "message: '" + text + "'", "service.slack": "token: x",
		})
		subject := &subscription.Subject{App: map[string]any{}, Now: noon}
		outcomes, faults := config.Judge(subject, []subscription.Subscription{{Trigger: "x", Service: "slack", Recipient: "r"}})
		if len(problems)+len(faults) > 0 || len(outcomes) != 1 {
			t.Fatalf("%s: %v, %v", name, problems, faults)
		}
		if forms, err := config.Forms(subject, outcomes[0]); err == nil {
			t.Errorf("%s: made %d bytes", name, len(forms[0].Text))
		}
	}
}

// TestARecipientThatIsTooLongIsAFault: of its own subscription; its beginning is in the text.
func TestARecipientThatIsTooLongIsAFault(t *testing.T) {
	config, _ := subscription.Parse(map[string]string{"trigger.x": "[{when: 'true', send: [x]}]", "template.x": "message: x", "service.slack": "token: x"})
	longest := strings.Repeat("ä", 512)
	outcomes, faults := config.Judge(&subscription.Subject{App: map[string]any{}, Now: noon}, []subscription.Subscription{{"x", "slack", longest + "a"}, {"x", "slack", longest}})
	if want := "[subscription x.slack:" + strings.Repeat("ä", 40) + "…: the recipient is longer than 1024 bytes]"; len(outcomes) != 1 || outcomes[0].Recipient != longest || fmt.Sprint(faults) != want {
		t.Errorf("%d outcomes, %v, want %s", len(outcomes), faults, want)
	}
}

// FuzzConfig: no key of the ConfigMap makes it panic, or takes long.
func FuzzConfig(f *testing.F) {
	f.Add("- when: app.status.health.status == 'Degraded'\n  oncePer: app.metadata.name\n  send: [x]", "message: '{{.app.metadata.name}}'", "token: $token", "a;b")
	f.Add("- when: any(app.status.conditions, {.type == 'x'})\n  send: [x]", "slack: {attachments: '[{\"x\": \"{{.app.metadata.name}}\"}]'}", "recipientUrls: {a: x}", "")
	f.Add("- when: repo.GetCommitMetadata('x').Author == 'x'\n  send: [x]", "message: '{{(call .repo.GetCommitMetadata \"x\").Message}}'", "token: x", "a")
	f.Add("- when: 'true'\n  send: [x]", "github: {repoURLPath: 'https://github.com/a/b', revisionPath: '1111111111111111111111111111111111111111', status: {state: success}}", "{appID: 1, installationID: '2', privateKey: $token}", "")
	f.Add("- when: 'true'\n  send: [x]", "{alertmanager: {labels: {a: '{{.app.metadata.name}}'}}, opsgenie: {alias: a}}", "{targets: ['a:1'], apiKeys: {a: $token}, serviceKeys: {a: b}}", "a")
	f.Fuzz(func(t *testing.T, trigger, template, service, recipients string) {
		app := map[string]any{"metadata": map[string]any{"name": "web\"<!channel>"}, "status": map[string]any{"conditions": []any{map[string]any{"type": "x"}}}}
		subject := &subscription.Subject{App: app, Now: noon, Commit: func(hash string) (subscription.Commit, error) {
			return subscription.Commit{Author: hash, Message: "\"<!channel>\n" + hash, Tags: []string{hash}}, nil
		}}
		for _, kind := range []string{"slack", "email", "teams", "webhook", "telegram", "googlechat", "opsgenie", "pagerdutyv2", "alertmanager", "mattermost", "newrelic", "github"} {
			config, _ := subscription.Parse(map[string]string{"trigger.x": trigger, "template.x": template, "service." + kind: service})
			outcomes, _ := config.Judge(subject, config.Of(subscription.Subscriber{Annotations: map[string]string{"notifications.argoproj.io/subscribe.x." + kind: recipients, "notifications.argoproj.io/subscriptions": recipients}}))
			for _, o := range outcomes {
				forms, _ := config.Forms(subject, o)
				p, _, err := config.Provider(route.Key{}, o.Service, o.Recipient, map[string][]byte{"token": []byte("t")})
				if err != nil {
					continue
				}
				for _, form := range forms {
					_, _ = deliver.ShowRequest(p, payload.JoinMessages(p.Type, []route.Note{{Form: &form}})[0])
				}
			}
		}
	})
}
