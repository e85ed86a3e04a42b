package controller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// statusManager is the field manager of everything that is written to custom resources.
const statusManager = "truce-controller"

// writeStatus writes an app's status if it is not the one that is there.
func (c *Controller) writeStatus(ctx context.Context, key app.Key) time.Duration {
	e, ok := c.entry(key)
	if !ok {
		return 0
	}
	if e.app.Policy.Mode == policy.Observe { // the status is that of the controller which truce only watches
		return c.observe(ctx, e)
	}
	defer c.keepUnsaid(e)
	r := ofFirstRun(e.app, e.obstacle.reportedBy(c.reportOf(e), e.app.Generation))
	if r.Lost != "" && r.Passage == e.app.Adoption.ID() {
		return c.writeLost(ctx, e, r.Lost)
	}
	r.Seen = time.Now()
	if wait := waitForProgress(e, r); wait > 0 {
		return wait
	}
	if wait := c.background(e, r); wait > 0 {
		return wait
	}
	next, err := c.answer(ctx, e, r)
	switch {
	case apierrors.IsConflict(err):
		return c.conflicts.When(key) // the watch is about to bring the newer form
	case errors.Is(err, errGone):
		return retryGone
	case err != nil:
		c.Log.Warn("status", "app", key.String(), "error", err.Error())
		return pauseAfter(err)
	}
	if had, _ := e.cr.At("status").(map[string]any); fingerprintOf(had["history"]) != fingerprintOf(next["history"]) {
		c.engineOf(key).NoteRuns(key, r.Runs)
	}
	c.noteStatusWritten(key, r)
	c.emitNews(e, next, r)
	c.emitHealth(e, next, r)
	c.emitProgress(e, next, r)
	return untilHealthTimeout(e.app, r)
}

// reportOf is the newest report of an app; that of an earlier app of the same name is none.
func (c *Controller) reportOf(e appEntry) report.Report {
	if c.isEarlier(e.app.Key, e.asks.uid) {
		return report.Report{App: e.app.Key}
	}
	return c.engineOf(e.app.Key).Report(e.app.Key)
}

// ofFirstRun is the report of an app of which no run has ended since the start: what was reported before it of the same generation holds until
// then.
func ofFirstRun(a app.App, r report.Report) report.Report {
	if r.Stage == "" {
		r.Generation, r.Running = a.Generation, true
	}
	return r
}

func (c *Controller) noteStatusWritten(key app.Key, r report.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.appSet[key]; now != nil {
		now.statusWrittenAt, now.said, now.slot = r.Seen, writtenRevisionOf(r), time.Time{}
	}
}

// newsDialect is a dialect that knows which changes of a status its dialect's users expect to hear of.
type newsDialect interface {
	News(before, now object.Object) []notify.Event
}

// emitNews reports what is new in a status. The custom resource may be older than the status that was written last: what was reported already
// is not reported again.
func (c *Controller) emitNews(e appEntry, next object.Object, r report.Report) {
	front, ok := e.front.(newsDialect)
	if !ok {
		return
	}
	news := front.News(c.takeUnsaid(e), next)
	held := heldNews{again: len(news) == 0 && c.mayBeUnsent(e.app.Key, r)}
	if held.again {
		news = front.News(nil, next)
	}
	if len(news) == 0 || !c.isNew(e.app.Key, messageKey(news)) {
		return
	}
	for _, n := range news {
		held.messages = append(held.messages, c.messageOfNews(e, n, r))
	}
	if held.again {
		held.messages = onlyMatters(held.messages)
	}
	if !c.holdBack(e.app.Key, held, r.WithoutFiles()) {
		c.sendNews(e.app.Key, held)
	}
}

func (c *Controller) messageOfNews(e appEntry, n notify.Event, r report.Report) notify.Message {
	if n.Revision = revisionOfNews(n, r, e.app.Release != nil); n.Revision == "" {
		n.AppVersion, n.Digest = "", "" // of that revision
	}
	m := notify.Message{Event: n, Evidence: evidenceOfNews(n, r), Matter: matterOfNews(n, r)}
	if n.Revision == r.Revision {
		m.Origin = r.Origin
	}
	if n.Severity == notify.Error && r.Stage == report.Fetch {
		m.Cause = c.failedSource(e.app.Source)
	}
	return m
}

// revisionOfNews is which revision news is about: none where the source has none for the app, as in Flux; and what waits for a dependency is the one that the
// status does not name yet. Of a release the status alone has it, as the version of the chart.
func revisionOfNews(n notify.Event, r report.Report, isRelease bool) string {
	switch {
	case r.Stage == report.Fetch:
		return ""
	case r.Stage == report.Depend && !isRelease:
		return r.Revision
	}
	return n.Revision
}

// messageKey is what makes news the same as others: the rest of a success message changes with every field that is ceded, and the text of an error with
// every try.
func messageKey(news []notify.Event) string {
	short := slices.Clone(news)
	for i, n := range short {
		switch {
		case n.Severity == notify.Error:
			short[i].Text = matter.FailureForm("", n.Text)
		case n.Revision != "":
			short[i].Text, _, _ = strings.Cut(n.Text, ";")
		}
	}
	return fingerprintOf(short)
}

func (c *Controller) isNew(key app.Key, news string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.appSet[key]
	if known == nil || known.news.key == news {
		return false
	}
	known.news.key = news
	return true
}

const (
	// progressPause spaces statuses that say no more than that something is still under way. Most runs are over before the first.
	progressPause = 3 * time.Second
	// repeatPause is the same for the first run after a start of an app whose status is about it already. When 100 apps of 100 objects each begin at once on a busy
	// machine, most runs take longer than progressPause: a write for each, and a second one that takes it back, were half of all requests of a restart.
	repeatPause = time.Minute
)

// waitForProgress is how long a status should wait for more to come of what is under way: a run, or objects or other apps that become ready.
func waitForProgress(e appEntry, r report.Report) time.Duration {
	since := e.begun
	if since.IsZero() && r.Stage == report.Depend {
		since = r.At
	} else if since.IsZero() {
		h := r.State().Health.Code
		if e.app.Wait != app.WaitHealthy || r.Stage != report.Done || h == health.Healthy || h == health.Degraded || h == health.Suspended {
			return 0
		}
		since = r.At
	}
	if since.Before(e.statusWrittenAt) {
		since = e.statusWrittenAt
	}
	if isRepeat(e.cr, r) {
		return since.Add(repeatPause).Sub(r.Seen)
	}
	return since.Add(progressPause).Sub(r.Seen)
}

// isRepeat reports whether a report is that of an app's first run after a start (see ofFirstRun), and the status is about the app as it is: an earlier process has run it.
func isRepeat(cr object.Object, r report.Report) bool {
	observed, is := cr.At("status", "observedGeneration").(int64)
	return is && r.Stage == "" && observed == r.Generation
}

// untilHealthTimeout is how long an app that waits for health may still take: then its status must say that it took too long.
func untilHealthTimeout(a app.App, r report.Report) time.Duration {
	if a.Wait != app.WaitHealthy || r.Stage != report.Done {
		return 0
	}
	if left := r.WaitingSince().Add(a.Timeout).Sub(r.Seen); left > 0 {
		return left + time.Millisecond
	}
	return 0
}

// writeSourceStatus writes the result of the newest fetch of a source.
func (c *Controller) writeSourceStatus(ctx context.Context, key app.SourceKey) error {
	c.mu.RLock()
	known := c.sourceSet[key]
	if known == nil || known.attached || c.isWrittenByOther(key, known.cr) {
		c.mu.RUnlock()
		return nil
	}
	e := *known // the watch writes to known meanwhile
	c.mu.RUnlock()
	next := object.Object(e.front.Status(e.cr, e.state))
	if next == nil { // another controller writes it
		return nil
	}
	err := asGoneAnswer(c.patchStatus(ctx, e.cr.GVK(), e.cr, e.wrote, next))
	if err != nil && !errors.Is(err, errGone) {
		c.Log.Warn("status", "source", key.String(), "error", err.Error())
	}
	c.mu.Lock()
	known.wrote = statusAfterWrite(next, err)
	c.mu.Unlock()
	if err == nil {
		c.reportSourceNews(known, e.cr, e.state.Artifact, next)
	}
	return err
}

// patchStatus replaces .status, unless it is as it should be already.
func (c *Controller) patchStatus(ctx context.Context, gvk object.GVK, cr object.Object, wrote digest, next object.Object) error {
	if isStatusWritten(cr, wrote, next) {
		return nil
	}
	return c.patch(ctx, gvk, cr, "status", statusPatch(next))
}

func statusPatch(next object.Object) []operation { return []operation{{"add", "/status", next}} }

// isStatusWritten reports whether a status is the one that was written last or, where none was, that of the custom resource as it was seen last:
// what we wrote may not have been seen yet.
func isStatusWritten(cr object.Object, wrote digest, status object.Object) bool {
	if wrote != (digest{}) {
		return wrote == digestOf(status)
	}
	have, _ := cr.At("status").(map[string]any)
	return field.EqualValues(map[string]any(status), have)
}

// unanswered stands for a status that was written without an answer: it is there or not, and no other is known to be.
var unanswered = digestOf(nil)

// statusAfterWrite is what is known of the status that is there after a write.
func statusAfterWrite(status object.Object, err error) digest {
	if err != nil {
		return unanswered
	}
	return digestOf(status)
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (c *Controller) patch(ctx context.Context, gvk object.GVK, cr object.Object, sub string, ops []operation) error {
	_, err := c.patchAs(ctx, statusManager, patched{gvk, cr, sub}, ops)
	return err
}

// patched is a part of a custom resource: a subresource, or all but these.
type patched struct {
	gvk object.GVK
	cr  object.Object
	sub string
}

// patchAs returns the custom resource as the server has it after the write.
func (c *Controller) patchAs(ctx context.Context, manager string, what patched, ops []operation) (object.Object, error) {
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	r, err := c.resource(what.gvk, what.cr.Namespace())
	if err != nil {
		return nil, err
	}
	subs := []string{}
	if what.sub != "" {
		subs = append(subs, what.sub)
	}
	got, err := r.Patch(ctx, what.cr.Name(), types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager}, subs...)
	if err != nil {
		return nil, err
	}
	return got.Object, nil
}

func (c *Controller) resource(gvk object.GVK, namespace string) (dynamic.ResourceInterface, error) {
	res, err := c.Cluster.Resource(gvk)
	if err != nil {
		return nil, err
	}
	return c.Cluster.Dynamic().Resource(res.GVR).Namespace(namespace), nil
}

// emitFinding reports drift on the app's custom resource.
func (c *Controller) emitFinding(n report.FindingEvent) {
	c.emitMessage(n.App, findings.Message(n, field.PathString(n.Finding.Path)))
}
