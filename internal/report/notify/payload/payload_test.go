package payload_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// hostile are texts of others that must start nothing in a receiver.
const hostile = `<!channel> @all **bold** [x](http://evil.example) <script>"`

func contested(app string) route.Note {
	return route.Note{
		Alert: route.Key{Namespace: "shop", Name: "ops"}, Metadata: map[string]string{"cluster": "prod", "on-call": "team: a", "summary": "production", "revision": "main@sha1:abc"},
		Message: notify.Message{
			Event:      notify.Event{Severity: notify.Error, Reason: "FieldContested", Text: `Deployment shop/web .spec.replicas: 3 (Git) vs 5 (live, set by scaler): put back 2 times; ` + hostile},
			About:      object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "shop", Name: app},
			APIVersion: "kustomize.toolkit.fluxcd.io/v1", UID: "u1", At: noon,
			Evidence: map[string]string{notify.FactObject: "Deployment shop/web", notify.FactField: ".spec.replicas", notify.FactGit: "3", notify.FactLive: "5", notify.FactWriter: "scaler", notify.FactSource: "web.yaml:7"},
			Matter:   notify.Matter{Kind: matter.Contested, Object: "Deployment shop/web", Field: ".spec.replicas", Phase: notify.Opens, Form: "3 scaler"},
		},
	}
}

func settled(app string) route.Note {
	n := contested(app)
	n.Message.Severity, n.Message.Reason, n.Message.Text = notify.Info, "FieldSettled", "Deployment shop/web .spec.replicas: no longer contested"
	n.Message.Matter.Phase, n.Message.At = notify.Ends, noon.Add(time.Hour)
	return n
}

func applied(app string) route.Note {
	n := contested(app)
	n.Message.Severity, n.Message.Reason, n.Message.Text, n.Message.Revision = notify.Info, "ReconciliationSucceeded", "Applied revision: "+revision, revision
	n.Message.Evidence, n.Message.Matter = nil, notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	return n
}

const revision = "main@sha1:58ce9c2c5cd0b5c5b1b7d5ae6b1f0a0e1c2d3e4f"

func failed(app string) route.Note {
	n := applied(app)
	n.Message.Severity, n.Message.Reason, n.Message.Text = notify.Error, "BuildFailed", "kustomize build: web.yaml: "+hostile
	n.Message.Matter.Phase = notify.Opens
	return n
}

// atPull names the pull request that a note is for.
func atPull(n route.Note, number string) route.Note {
	n.Metadata = maps.Clone(n.Metadata)
	n.Metadata[route.ChangeRequest] = number
	return n
}

func waiting(app string) route.Note {
	n := applied(app)
	n.Message.Reason, n.Message.Text, n.Message.Matter = "DependencyNotReady", "dependency shop/db is not ready", notify.Matter{}
	return n
}

// readTarget reads the input of a story.
func readTarget(t *testing.T, text string) payload.Target {
	t.Helper()
	var in map[string]string
	if err := yaml.Unmarshal([]byte(text), &in); err != nil {
		t.Fatal(err)
	}
	thread, _ := strconv.ParseInt(in["thread"], 10, 64) // 0 for none
	return payload.Target{
		Type: in["type"], Address: in["address"], Channel: in["channel"], Thread: thread, Username: in["username"], Token: in["token"], Login: in["login"], Password: in["password"],
		UID: "0c9c2e41-d2f9-4f9b-9465-9c1b8f0e1a11",
	}
}

func printRequest(r payload.Request, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	out := r.Method + " " + r.URL + "\n"
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		out += name + ": " + r.Headers[name] + "\n"
	}
	var body any
	if json.Unmarshal(r.Body, &body) != nil {
		return out + string(r.Body) + "\n"
	}
	text, _ := json.MarshalIndent(body, "", "  ")
	return out + string(text) + "\n"
}

// TestEachReceiverGetsItsOwnForm: a fight that begins, and one that ends.
func TestEachReceiverGetsItsOwnForm(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		target := readTarget(t, in.Need(t, "target.yaml"))
		var out string
		notes := []route.Note{contested("web"), settled("web")}
		if target.Type == "alertmanager" {
			notes[1].Before = &notes[0]
		}
		if payload.IsComment(target.Type) {
			notes = []route.Note{atPull(failed("web"), "7"), atPull(applied("web"), "7"), contested("web"), atPull(contested("web"), "7/../8")}
		}
		if payload.IsCommitStatus(target.Type) {
			notes = []route.Note{failed("web"), waiting("web"), applied("web")}
		}
		for _, n := range notes {
			for _, c := range payload.JoinMessages(target.Type, []route.Note{n}) {
				if c.Nothing {
					out += "nothing\n"
					continue
				}
				r, err := payload.BuildRequest(target, c)
				out += printRequest(r, err)
				if r.Thread != nil {
					out += fmt.Sprintf("list %s\nor %s %sID\n", r.Thread.List, r.Thread.Method, r.Thread.Update)
				}
				if strings.Contains(string(r.Body), "CANARY") {
					t.Errorf("a credential is in the body: %s", r.Body)
				}
				if err != nil && strings.Contains(err.Error(), "CANARY") {
					t.Errorf("a credential is in an error: %v", err)
				}
			}
		}
		return out
	})
}

func TestMessagesOfOneLookAreJoined(t *testing.T) {
	one := payload.JoinMessages("slack", []route.Note{contested("web"), settled("web"), applied("web")})
	if len(one) != 1 || one[0].Title != "kustomization/web.shop" || one[0].Count != 2 || len(one[0].From) != 3 {
		t.Errorf("of one app: %+v", one)
	}
	if text := one[0].Text(); strings.Contains(text, "put back") || !strings.Contains(text, "no longer contested") {
		t.Errorf("of a matter the newest message says it all: %s", text)
	}
	var many []route.Note
	for i := range 1000 {
		many = append(many, applied(fmt.Sprintf("app-%d", i)))
	}
	many = append(many, contested("bad"))
	all := payload.JoinMessages("slack", many)
	if len(all) != 1 || all[0].Title != "1001 apps" || len(all[0].From) != 1001 || !all[0].IsError() {
		t.Fatalf("of 1,001 apps %d messages: %+v", len(all), all)
	}
	for _, text := range []string{"1 FieldContested, 1000 ReconciliationSucceeded\nKustomization shop/bad: ", "and 981 more"} {
		if !strings.Contains(all[0].Text(), text) {
			t.Errorf("the summary does not say %q: %s", text, all[0].Text())
		}
	}
	for _, f := range all[0].Facts {
		if f.Name == notify.FactObject {
			t.Errorf("a fact of one app is a fact of all: %+v", f)
		}
	}
	for _, kind := range []string{"githubdispatch", "generic", "googlepubsub"} { // programs read the name of the app
		if each := payload.JoinMessages(kind, many); len(each) != 1001 {
			t.Errorf("%s: of 1,001 apps %d messages", kind, len(each))
		}
	}
	if alerts := payload.JoinMessages("pagerduty", []route.Note{contested("a"), contested("b"), contested("c"), contested("d"), settled("d")}); len(alerts) != 4 || alerts[3].Ended != true {
		t.Errorf("a receiver of alerts gets %d", len(alerts))
	}
}

// TestEachNoteIsOfOneContent: a note that is of none would wait for ever, and be sent when what made it old news is gone; one of two would be sent twice.
func TestEachNoteIsOfOneContent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	makers := []func(string) route.Note{contested, settled, applied, failed, waiting, func(app string) route.Note {
		n := applied(app)
		n.Message.Reason, n.Message.Text = "TestSucceeded", "test succeeded"
		return n
	}}
	for _, kind := range payload.TypeNames() {
		for range 300 {
			var notes []route.Note
			for range 1 + random.IntN(8) {
				notes = append(notes, makers[random.IntN(len(makers))](string(rune('a'+random.IntN(5)))))
			}
			of := map[int]int{}
			for _, c := range payload.JoinMessages(kind, notes) {
				for _, i := range c.From {
					of[i]++
				}
			}
			for i, n := range notes {
				if of[i] != 1 {
					t.Fatalf("%s: of %d notes number %d (%s of %s) is of %d contents", kind, len(notes), i, n.Message.Reason, n.Message.About.Name, of[i])
				}
			}
		}
	}
}

// TestAnUpgradeAndItsTestsAreBothSaid: to people in one message, to programs in one each, with its own facts. An end before another failure is old news.
func TestAnUpgradeAndItsTestsAreBothSaid(t *testing.T) {
	upgraded, tested, again := applied("web"), applied("web"), applied("web")
	upgraded.Message.Reason, upgraded.Message.Text, upgraded.Message.Evidence = "UpgradeSucceeded", "upgrade succeeded", map[string]string{notify.FactChanged: "configured Deployment"}
	tested.Message.Reason, tested.Message.Text = "TestSucceeded", "test succeeded"
	again.Message.Reason, again.Message.Text = "TestSucceeded", "test succeeded once more"
	if all := payload.JoinMessages("slack", []route.Note{upgraded, tested, again}); len(all) != 1 || all[0].Text() != "upgrade succeeded\ntest succeeded once more" {
		t.Errorf("people get %+v", all)
	}
	all := payload.JoinMessages("generic", []route.Note{upgraded, tested})
	if len(all) != 2 || all[0].Message.Reason != "UpgradeSucceeded" || all[1].Message.Reason != "TestSucceeded" {
		t.Fatalf("programs get %+v", all)
	}
	if !slices.ContainsFunc(all[0].Facts, func(f payload.Fact) bool { return f.Name == notify.FactChanged }) {
		t.Errorf("the facts of the upgrade are %v", all[0].Facts)
	}
	if all := payload.JoinMessages("slack", []route.Note{upgraded, failed("web")}); len(all) != 1 || strings.Contains(all[0].Text(), "upgrade succeeded") {
		t.Errorf("after a failure people get %+v", all)
	}
}

// TestAnObjectNamesTheCommitOfItsMessages: a release of a published chart, whose revision is a version.
func TestAnObjectNamesTheCommitOfItsMessages(t *testing.T) {
	release := applied("web")
	release.Message.Revision = "1.2.0"
	if _, is := payload.ResultOf(release.Message); is {
		t.Error("a version is a commit")
	}
	named := release.Message
	named.Annotations = map[string]string{"event.toolkit.fluxcd.io/commit": strings.Repeat("ab", 20)}
	if got, is := payload.ResultOf(named); !is || got.SHA != strings.Repeat("ab", 20) || got.State != payload.Success {
		t.Errorf("got %+v, %t", got, is)
	}
	release.Metadata = map[string]string{"commit": strings.Repeat("ab", 20)} // as it waits for its Provider
	if all := payload.JoinMessages("github", []route.Note{release}); len(all) != 1 || all[0].Commit.SHA != strings.Repeat("ab", 20) {
		t.Errorf("got %+v", all)
	}
}

// TestACommitHasTheNewestResultOfEachApp: what is no result is sent to no server, and waits no longer.
func TestACommitHasTheNewestResultOfEachApp(t *testing.T) {
	other := failed("web")
	other.Message.Revision = "main/" + strings.Repeat("ab", 20)
	oci, made := applied("web"), applied("oci")
	oci.Message.Revision = "latest@sha256:" + strings.Repeat("ab", 32)
	made.Message.Revision, made.Message.Origin = oci.Message.Revision, revision
	fetch := failed("web")
	fetch.Message.Reason, fetch.Message.Revision = "ArtifactFailed", "" // its source has no revision for it
	notes := []route.Note{contested("web"), failed("web"), applied("web"), other, oci, made, settled("web"), fetch}
	var out []string
	done := map[int]int{}
	for _, c := range payload.JoinMessages("github", notes) {
		out = append(out, fmt.Sprintf("%s %.6s %s %v", c.Title, c.Commit.SHA, c.Commit.State, c.Nothing))
		for _, i := range c.From {
			done[i]++
		}
	}
	want := []string{"kustomization/web.shop 58ce9c success false", "kustomization/web.shop ababab failure false", "kustomization/oci.shop 58ce9c success false", "  "}
	if len(out) != 4 || !slices.Equal(out[:3], want[:3]) || !strings.HasSuffix(out[3], "true") {
		t.Errorf("%q", out)
	}
	for i := range notes {
		if done[i] != 1 {
			t.Errorf("note %d is of %d contents", i, done[i])
		}
	}
}

// TestAnExpressionNamesAStatus is spec.commitStatusExpr.
func TestAnExpressionNamesAStatus(t *testing.T) {
	provider := object.Object{"metadata": map[string]any{"uid": "u-1"}}
	for text, want := range map[string]string{
		`event.involvedObject.kind + "/" + event.metadata.cluster + "/" + provider.metadata.uid.split("-")[0]`: `"context":"Kustomization/prod/u"`,
		`event.metadata.none`:              "no such key",
		`event.severity == "x" ? "a" : ""`: "empty name",
	} {
		e, err := cel.CompileText(text)
		if err != nil {
			t.Fatal(err)
		}
		n := applied("web")
		payload.NameStatus(e, &n, provider, object.Object{})
		r, err := payload.BuildRequest(payload.Target{Type: "github", Address: "https://github.com/o/r", Token: "t"}, payload.JoinMessages("github", []route.Note{n})[0])
		if !strings.Contains(string(r.Body)+fmt.Sprint(err), want) {
			t.Errorf("%s: %s, %v", text, r.Body, err)
		}
	}
	if _, err := cel.CompileText("1 + 1"); err == nil {
		t.Error("a number is no name")
	}
}

// TestNoMessageIsTooLargeForItsReceiver: what is refused for its size is sent to people no more. The limits are those that the vendors publish.
func TestNoMessageIsTooLargeForItsReceiver(t *testing.T) {
	limits := map[string]int{"webex": 7439, "lark": 20 << 10, "msteams": 28 << 10, "googlechat": 32000, "matrix": 65536, "githubdispatch": 64 << 10, "azureeventhub": 256 << 10, "pagerduty": 512 << 10}
	for _, long := range []string{strings.Repeat("漢\"<_*\n", 10_000), strings.Repeat("x", 1<<20), strings.Repeat("\n", 20_000)} {
		n := contested("web")
		n.Message.Text = long
		for i := range 14 {
			n.Message.Evidence[fmt.Sprint("fact-", i)] = strings.ToValidUTF8(long[:20_000], "")
		}
		n.Metadata[route.ChangeRequest] = "7"
		for _, kind := range payload.TypeNames() {
			if payload.IsCommitStatus(kind) {
				continue
			}
			target := payload.Target{Type: kind, Address: addressFor(kind), Channel: "a/b@example.com", Username: "truce@example.com", Token: "t", Login: "l", Password: "p"}
			if kind == "googlepubsub" {
				target.Channel = "topic"
			}
			r, err := payload.BuildRequest(target, payload.JoinMessages(kind, []route.Note{n})[0])
			most := limits[kind]
			if most == 0 {
				most = 1 << 20
			}
			if err != nil || len(r.Body) > most {
				t.Errorf("%s: %d bytes, %v: want %d at most", kind, len(r.Body), err, most)
			}
			if kind != "opsgenie" {
				continue
			}
			var body struct{ Details map[string]string }
			size := 0
			_ = json.Unmarshal(r.Body, &body)
			for name, value := range body.Details {
				size += len([]rune(name + value))
			}
			if size > 8000 || size == 0 {
				t.Errorf("opsgenie: details of %d characters", size)
			}
		}
	}
}

// FuzzText: no text of a commit or an object starts anything in a receiver, or breaks a request.
func FuzzText(f *testing.F) {
	f.Add(hostile, "x\x00\xff", "a\r\nX-Evil: 1")
	f.Add("\u202egnp.exe", "x", "\u202ey")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		n := contested(name)
		n.Message.Text, n.Metadata[name] = text, value
		n.Metadata[route.ChangeRequest] = "7"
		for _, kind := range payload.TypeNames() {
			target := payload.Target{Type: kind, Address: addressFor(kind), Channel: "a/b@example.com", Username: "truce@example.com", Token: "t", Login: "l", Password: "p"}
			if kind == "googlepubsub" {
				target.Channel = "topic"
			}
			notes := []route.Note{n}
			if payload.IsCommitStatus(kind) {
				bad := failed(name)
				bad.Message.Text, bad.Message.Reason = text, "X"+value
				notes = []route.Note{bad}
			}
			for _, c := range payload.JoinMessages(kind, notes) {
				r, err := payload.BuildRequest(target, c)
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				if kind == "email" {
					checkMail(t, r, value)
				} else if kind != "zulip" && !json.Valid(r.Body) {
					t.Fatalf("%s: %s", kind, r.Body)
				}
				if strings.Contains(string(r.Body), "\u202e") && !strings.Contains(name, "\u202e") && !payload.IsCommitStatus(kind) { // a status has the reason, which is truce's
					t.Fatalf("%s: a change of the reading direction: %q", kind, r.Body)
				}
				if body := string(r.Body); kind == "slack" && strings.ContainsAny(strings.ReplaceAll(body, `\u003c`, "<"), "<>") {
					t.Fatalf("a mention or a link: %s", body)
				}
				for _, value := range r.Headers {
					if strings.ContainsAny(value, "\r\n") {
						t.Fatalf("%s: a header with a line break: %q", kind, value)
					}
				}
			}
		}
	})
}

func addressFor(kind string) string {
	switch kind {
	case "bitbucketserver":
		return "https://example.com/scm/o/r.git"
	case "azuredevops":
		return "https://example.com/o/p/_git/r"
	case "googlepubsub":
		return "acme-prod"
	case "azureeventhub":
		return "Endpoint=sb://acme-events.servicebus.windows.net/;SharedAccessKeyName=a;SharedAccessKey=k;EntityPath=hub"
	case "nats":
		return "nats://nats.example.com"
	case "email":
		return "smtp://mail.example.com"
	}
	return "https://key@example.com/o/r"
}
