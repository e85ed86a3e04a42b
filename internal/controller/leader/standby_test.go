package leader

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
)

type heldBy struct{ atomic.Value }

func (h *heldBy) GetLeader() string { return h.Load().(string) }

// TestAHolderThatWorksForOtherNamespacesIsWarnedOf: not another replica, an earlier version, or the process before in an update.
func TestAHolderThatWorksForOtherNamespacesIsWarnedOf(t *testing.T) {
	teamA := cluster.Namespaces{"team-a", "tools"}
	for what, c := range map[string]struct {
		holder string
		ends   bool
		want   string
	}{
		"another instance":         {identityOf("pod_1", cluster.Namespaces{"team-b"}), false, "holderNamespaces=team-b namespaces=team-a,tools"},
		"one of the whole cluster": {identityOf("pod_1", nil), false, `holderNamespaces="all namespaces" namespaces=team-a,tools`},
		"another replica":          {identityOf("pod_1", cluster.Namespaces{"tools", "team-a"}), false, ""},
		"the process before":       {identityOf("pod_1", cluster.Namespaces{"team-a"}), true, ""},
		"an earlier version":       {"pod_1", false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s := standby{worksFor: teamA, lease: "truce-system/truce-controller", patience: 30 * time.Second, log: slog.New(slog.NewTextHandler(&log, nil))}
			var now heldBy
			now.Store(c.holder)
			s.watch(t.Context(), c.holder, &now)
			if c.ends {
				now.Store("another")
			}
			wait, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			<-wait.Done()
			synctest.Wait()
			if got := log.String(); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("%s: %q, want %q", what, got, c.want)
			}
		})
	}
}
