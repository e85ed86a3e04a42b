package leader

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
)

// purpose is in the identity of a holder between its own name and the namespaces that it works for. An earlier version has neither.
const purpose = " for "

// identityOf is what a Lease says of its holder.
func identityOf(name string, worksFor cluster.Namespaces) string {
	return name + purpose + scopeText(worksFor)
}

// scopeText names the namespaces, in whatever order flags have them.
func scopeText(n cluster.Namespaces) string {
	if !n.Limited() {
		return "all namespaces"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(n))), ",")
}

// standby warns of a holder that works for other namespaces: nothing is done for those of this process then.
type standby struct {
	worksFor cluster.Namespaces
	lease    string
	// patience is how long a holder may hold the Lease before: in an update that changes the namespaces the earlier process does until it ends.
	patience time.Duration
	log      *slog.Logger
}

// watch takes in that a process holds the Lease. It does not block.
func (s standby) watch(ctx context.Context, holder string, now interface{ GetLeader() string }) {
	_, others, known := strings.Cut(holder, purpose)
	if !known || others == scopeText(s.worksFor) {
		return
	}
	time.AfterFunc(s.patience, func() {
		if ctx.Err() == nil && now.GetLeader() == holder {
			s.log.Warn("another truce instance holds the Lease of this one, which does nothing for its namespaces: give each instance "+
				"a --runtime-namespace of its own, and where --leader-elect-namespace or --leader-elect-name is set, another Lease",
				"lease", s.lease, "holder", holder, "holderNamespaces", others, "namespaces", scopeText(s.worksFor))
		}
	})
}
