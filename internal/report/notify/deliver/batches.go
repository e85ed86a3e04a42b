package deliver

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// batch is one content with the items that it is made of.
type batch struct {
	content payload.Content
	ids     []uint64
	at      place
}

// addDropped says that messages are missing.
func (b *batch) addDropped(n int) {
	if n > 0 {
		b.content.Lines = append(b.content.Lines, fmt.Sprintf("%d earlier messages were dropped: too many waited for this Provider", n))
	}
}

// batches joins the items of each Alert.
func batches(kind string, items []outbox.Item) []*batch {
	var order []route.Key
	of := map[route.Key][]outbox.Item{}
	for _, i := range items {
		if of[i.Alert] == nil {
			order = append(order, i.Alert)
		}
		of[i.Alert] = append(of[i.Alert], i)
	}
	var out []*batch
	for _, alert := range order {
		var notes []route.Note
		for _, i := range of[alert] {
			notes = append(notes, i.Note)
		}
		for _, c := range payload.JoinMessages(kind, notes) {
			b := &batch{content: c}
			for _, i := range c.From {
				b.ids, b.at = append(b.ids, of[alert][i].ID), placeOf(of[alert][i])
			}
			out = append(out, b)
		}
	}
	return out
}
