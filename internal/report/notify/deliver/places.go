package deliver

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
)

// place is what messages are about, and the path that their template makes. Messages of one place are sent in order, so that the newest state is the last one.
type place struct {
	about object.ID
	path  string
}

func placeOf(i outbox.Item) place {
	at := place{about: i.Message.About}
	if i.Form != nil {
		at.path = i.Form.Path
	}
	return at
}

// refusal is why the messages of a place wait.
type refusal struct {
	failures int
	until    time.Time // the next try
	err      error
}

// placeStatuses are the answers that may concern one address alone.
var placeStatuses = []int{http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusGone}

// ofOnePlace returns why a message is refused, if that may concern its place alone: a webhook of Argo CD's has an address for each message with, say, the
// repository in it. A server that asks for a pause means all requests.
func ofOnePlace(kind string, err error) *sendError {
	var refused *sendError
	if kind != payload.ArgoService+"webhook" || !errors.As(err, &refused) || refused.final || refused.after > 0 || !slices.Contains(placeStatuses, refused.status) {
		return nil
	}
	return refused
}

// refuse has the messages of a place wait.
func (d *Deliverer) refuse(w *worker, at place, err *sendError) {
	failures := w.refused[at].failures + 1
	pause := pauseAfter(failures)
	w.refused[at] = refusal{failures, time.Now().Add(pause), err}
	d.report(w, nil)
	d.Log.Warn("notification", "provider", w.key.String(), "about", at.about.String(), "error", err.Error(), "again", pause.Round(time.Millisecond).String())
}

// report reports what came of a try. While a place waits that is no success, and the same error each time.
func (d *Deliverer) report(w *worker, err error) {
	for _, r := range w.refused {
		if err == nil || r.err.Error() < err.Error() {
			err = r.err
		}
	}
	d.Providers.OnDelivery(w.key, err)
}

// waits reports whether the messages of a place are not to be sent yet.
func (w *worker) waits(at place, now time.Time) bool { return now.Before(w.refused[at].until) }

// due returns the items that are to be sent now, and, where there is none, when the first one is. It forgets the places of which nothing waits.
func (w *worker) due(items []outbox.Item, now time.Time) (due []outbox.Item, next time.Duration) {
	if len(w.refused) == 0 {
		return items, 0
	}
	waiting := map[place]refusal{}
	for _, i := range items {
		at := placeOf(i)
		r, is := w.refused[at]
		if is {
			waiting[at] = r
		}
		if !w.waits(at, now) {
			due = append(due, i)
		} else if wait := r.until.Sub(now); next == 0 || wait < next {
			next = wait
		}
	}
	w.refused = waiting
	return due, next
}
