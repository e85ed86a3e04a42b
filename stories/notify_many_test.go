package stories

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
)

// TestLongACommitOfAThousandAppsIsOneMessage: 1,000 apps of one repository apply a revision, and another one. Each revision is one message that counts
// all of them; where the machine is so slow that they need more than a minute, one for each minute.
func TestLongACommitOfAThousandAppsIsOneMessage(t *testing.T) {
	const apps = 1000
	w := offWorld(t, "-- none --\n")
	e := newEndpoint(t)
	w.notifies(e, "slack", "/chat", "")
	windows := deliver.DefaultWindows()
	w.run(compose.RunOptions{Windows: windows})
	commit := func(version string) {
		files := map[string]string{}
		for n := range apps {
			files[fmt.Sprintf("apps/app-%04d/map.yaml", n)] = fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: map-%04d, namespace: NAMESPACE}, data: {version: %s}}\n", n, version)
		}
		w.repo.Commit(w.inNamespace(files), version)
	}
	isOneMessage := func(begin time.Time) {
		t.Helper()
		messages, counted := about(e, w.repo.Head())
		for late := time.After(5 * patience); counted < apps; messages, counted = about(e, w.repo.Head()) {
			select {
			case <-e.come:
			case <-late:
				t.Fatalf("%d messages are about %d apps", messages, counted)
			}
		}
		took := time.Since(begin)
		t.Logf("%d apps in %d messages after %s", counted, messages, took.Round(time.Second))
		if counted != apps || messages > 1+int(took/windows.CommitMost) {
			t.Errorf("%d messages within %s are about %d apps: %s", messages, took, counted, strings.Join(e.at("/chat"), "\n"))
		}
	}

	commit("one")
	begin := time.Now()
	w.app("app-0000", "./apps/app-0000", defaultSpec)
	for n := 1; n < apps; n++ {
		name := fmt.Sprintf("app-%04d", n)
		_, kustomization, _ := strings.Cut(w.manifest(name, "./apps/"+name, defaultSpec), "---\n")
		w.Apply(t, kustomization)
	}
	isOneMessage(begin)
	begin = time.Now()
	commit("two")
	isOneMessage(begin)
}

var countOfApps = regexp.MustCompile(`"author_name":"(\d+) apps"`)

// about returns how many messages to Slack name a commit, and how many apps they are about; up to three apps have one each.
func about(e *endpoint, commit string) (messages, apps int) {
	for _, body := range e.at("/chat") {
		if !strings.Contains(body, commit) {
			continue
		}
		n := 1
		if m := countOfApps.FindStringSubmatch(body); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		messages, apps = messages+1, apps+n
	}
	return messages, apps
}
