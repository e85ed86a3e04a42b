package outbox

import (
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// surplus chooses n of the items to drop: the oldest of those that a newer one about the same matter replaces, then the oldest that are no errors,
// then the oldest.
func surplus(items []Item, n int) []uint64 {
	newest := map[string]uint64{}
	for _, i := range items {
		newest[i.Alert.String()+matter.KeyOf(i.Message)] = i.ID
	}
	chosen := map[uint64]bool{}
	var out []uint64
	take := func(i Item) {
		if len(out) < n && !chosen[i.ID] {
			chosen[i.ID] = true
			out = append(out, i.ID)
		}
	}
	for _, i := range items {
		if newest[i.Alert.String()+matter.KeyOf(i.Message)] != i.ID {
			take(i)
		}
	}
	for _, i := range items {
		if i.Message.Severity != notify.Error {
			take(i)
		}
	}
	for _, i := range items {
		take(i)
	}
	return out
}
