package notices

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// earlyApps are the Applications that were there when a term began of which the file does not say what was sent before. What holds of one whose status dates from before
// counts as sent at the first look. The goroutine of followApplications has them, once they are listed.
type earlyApps struct {
	known map[object.ID]bool
	since time.Time // when the term began; zero where the file says all
}

// beginTerm finds out whether the file says what was sent before: a pod that is new has a new one, and one that has led before, an old one.
func (o *Outlet) beginTerm() {
	complete, err := o.Store.BeginTerm(o.Term.Number())
	if err != nil {
		o.Log.Warn("notifications", "error", err.Error())
		return
	}
	if complete {
		return
	}
	o.early.since = time.Now()
	o.Log.Info("what was sent before is not known: the file of notifications is new, or another process has led since; what fails or differs may be sent again")
}

// noteEarly notes the Applications that are there at the beginning.
func (o *Outlet) noteEarly() {
	if o.early.since.IsZero() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.early.known = make(map[object.ID]bool, len(o.applications))
	for id := range o.applications {
		o.early.known[id] = true
	}
}

// isEarly reports whether what holds of an Application counts as sent. Statuses have seconds.
func (e earlyApps) isEarly(id object.ID, app object.Object) bool {
	last := lastChange(app)
	return e.known[id] && !last.IsZero() && last.Before(e.since.Truncate(time.Second))
}

// lastChange returns the newest time that the status of an Application has of its operation, its health, its history and its conditions; zero for none.
func lastChange(app object.Object) (last time.Time) {
	note := func(v any) {
		text, _ := v.(string)
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(last) {
			last = at
		}
	}
	note(app.At("status", "operationState", "startedAt"))
	note(app.At("status", "operationState", "finishedAt"))
	note(app.At("status", "health", "lastTransitionTime"))
	for list, name := range map[string]string{"history": "deployedAt", "conditions": "lastTransitionTime"} {
		all, _ := app.At("status", list).([]any)
		for _, v := range all {
			entry, _ := v.(map[string]any)
			note(entry[name])
		}
	}
	return last
}
