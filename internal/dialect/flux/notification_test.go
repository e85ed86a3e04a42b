package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestProvidersAndAlertsAreRead(t *testing.T) {
	golden.Run(t, "testdata/notification/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		n := Notifications{SameNamespace: in["same-namespace"] != ""}
		state := route.State{Failing: strings.TrimSpace(in["failing"]), At: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
		var out string
		if cr.GVK().Kind == "Provider" {
			p := n.Provider(cr)
			state.Problems, state.Notes, state.Suspended = p.Problems, p.Notes, p.Suspended
			out = fmt.Sprintf("%s: type %s, channel %q, username %q, within %s, suspended %v, secrets %q %q %q\n",
				p.Key, p.Type, p.Channel, p.Username, p.Timeout, p.Suspended, p.Secret, p.Certificates, p.ProxySecret)
		} else {
			a := n.Alert(cr)
			state.Problems, state.Notes, state.Ignored, state.Suspended = a.Problems, a.Notes, a.Ignored, a.Suspended
			out = fmt.Sprintf("%s: to %q, errors only %v, sources %v, include %v, exclude %v, metadata %v, summary %q, suspended %v\n",
				a.Key, a.Provider, a.ErrorsOnly, a.Sources, a.Include, a.Exclude, a.Metadata, a.Summary, a.Suspended)
		}
		first := n.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := gocmp.Diff(first, n.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		if out += text(t, first); strings.Contains(out, "hunter2") {
			t.Errorf("a credential is shown: %s", out)
		}
		return out
	})
}

// FuzzNotifications: no Provider or Alert makes it panic, and each fault is a problem or none.
func FuzzNotifications(f *testing.F) {
	f.Add("slack", "https://x", "web", "(")
	f.Add("", "\x00", "*", "a**")
	f.Fuzz(func(t *testing.T, kind, address, name, expression string) {
		spec := map[string]any{
			"type": kind, "address": address, "channel": name, "providerRef": map[string]any{"name": name}, "timeout": expression,
			"eventSources": []any{map[string]any{"kind": kind, "name": name, "matchLabels": map[string]any{name: kind}}, kind}, "inclusionList": []any{expression},
		}
		for _, k := range []string{"Provider", "Alert"} {
			cr := object.Object{"apiVersion": notificationAPI, "kind": k, "metadata": map[string]any{"name": name}, "spec": spec}
			p, a := Notifications{}.Provider(cr), Notifications{}.Alert(cr)
			Notifications{}.Status(cr, route.State{Problems: append([]app.Problem{}, append(p.Problems, a.Problems...)...)})
		}
	})
}
