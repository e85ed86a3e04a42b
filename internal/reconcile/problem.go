package reconcile

// failed keeps why an object could not be brought in line. The next event, revision or full check tries again. The error that it returns may be shown.
func (w *objectReconcile) failed(err error) error {
	shown := &shownError{text: w.snap.sensitive.Message(err.Error()), err: err}
	w.keepProblem(shown.text)
	w.engine.queue.AppChanged(w.snap.owner)
	w.engine.failuresChanged(w.snap.owner)
	w.engine.healthChanged(w.snap.owner)
	w.engine.notifyListeners()
	return shown
}

// shownError is an error about an object without what the object has from Secrets.
type shownError struct {
	text string
	err  error
}

// Error is the text without it.
func (e *shownError) Error() string { return e.text }

// Unwrap is the error as it came: for errors.Is and errors.As, and not to be shown.
func (e *shownError) Unwrap() error { return e.err }

// keepProblem keeps the problem. What was found before stays known where the object was not judged.
func (w *objectReconcile) keepProblem(text string) {
	r := w.managed
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = text
	if w.judged {
		r.findings = w.masked(w.plan.Findings)
	}
	switch {
	case w.live != nil && !r.knowsNewer(w.live):
		r.keepHealth(w.engine, w.live)
	case w.live == nil && w.freshness == current && r.health.Code != "": // what was seen of it is gone
		r.keepAbsence(w.engine, w.healthOfAbsent())
	}
}
