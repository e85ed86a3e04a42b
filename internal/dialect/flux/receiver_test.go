package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/webhook"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestReceiversAreRead(t *testing.T) {
	golden.Run(t, "testdata/receiver/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		n := Receivers{SameNamespace: in["same-namespace"] != ""}
		r := n.Receiver(cr)
		state := webhook.State{Problems: r.Problems, Notes: r.Notes, Missing: strings.TrimSpace(in["missing"]), Handled: r.Request, At: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
		if token := strings.TrimSpace(in["token"]); token != "" {
			state.Path = n.WebhookPath(r.Key, token)
		}
		out := fmt.Sprintf("%s: %s every %s, events %q, filter %q, Secret %q, suspended %v\n", r.Key, r.Type, r.Interval, r.Events, r.Filter, r.Secret, r.Suspended)
		for _, s := range r.Resources {
			out += fmt.Sprintf("%s %s/%s %v %q\n", s.Kind, s.Namespace, s.Name, s.Labels, s.Filter)
		}
		first := n.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := gocmp.Diff(first, n.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return out + text(t, first)
	})
}
