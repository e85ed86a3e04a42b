package notices

import (
	"errors"

	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// draft is what one look at an Application changes in the Store. It is made without holding the Store: a look may read commits and render templates meanwhile.
type draft struct {
	states  map[string]matter.State // of the Application, as they are after the look
	changed map[string]bool
	notes   []addressed
}

// addressed is a note for a recipient.
type addressed struct {
	to   route.Key
	note route.Note
}

func (d *draft) putState(key string, s matter.State) {
	d.states[key], d.changed[key] = s, true
}

func (d *draft) remove(key string) {
	delete(d.states, key)
	d.changed[key] = true
}

// store writes the draft.
func (d *draft) store(tx *outbox.Tx) (err error) {
	for key := range d.changed {
		if s, there := d.states[key]; there {
			err = errors.Join(err, tx.PutState(key, s))
		} else {
			err = errors.Join(err, tx.Delete(key))
		}
	}
	for _, n := range d.notes {
		err = errors.Join(err, tx.Push(n.to, n.note))
	}
	return err
}
