package controller

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// reportedNews is what was reported of an app last.
type reportedNews struct {
	key    string   // of the newest
	held   heldNews // that is not sent yet; see holdBack
	until  time.Time
	before object.Object // the status that was reported, where it is not known whether a later one was written; nil where it is
	uid    string        // of the custom resource with that status
}

// heldNews are messages that wait. Again says that an earlier process may have sent them: they go to the Outlet alone, which knows.
type heldNews struct {
	messages []notify.Message
	again    bool
}

// mayBeUnsent reports whether the status of an app may be of an earlier process that has ended before it sent what was new in it: this one has sent nothing yet, and
// the report of a run says what it is about.
func (c *Controller) mayBeUnsent(key app.Key, r report.Report) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.appSet[key]
	return r.Stage != "" && !r.Running && r.Reason != report.Suspended && c.Outlet != nil && e != nil && e.news.key == ""
}

// keepUnsaid keeps the status of an app as it was before a write without an answer: the watch may bring what was written, and its news is not reported yet.
func (c *Controller) keepUnsaid(e appEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.appSet[e.app.Key]
	if known == nil || known.wrote != unanswered || known.asks.uid != e.asks.uid || known.news.before != nil && known.news.uid == e.asks.uid {
		return
	}
	known.news.before, known.news.uid = object.Object{}, e.asks.uid
	status, _ := e.cr.At("status").(map[string]any)
	for name, value := range status {
		if name != "inventory" && name != "resources" { // these are long, and no news
			known.news.before[name] = value
		}
	}
}

// takeUnsaid returns the status with which the next one is compared: that of the custom resource, or, after a write without an answer, that from before it.
func (c *Controller) takeUnsaid(e appEntry) object.Object {
	status, _ := e.cr.At("status").(map[string]any)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.appSet[e.app.Key]
	if known == nil || known.news.before == nil {
		return status
	}
	before, uid := known.news.before, known.news.uid
	if known.news.before = nil; uid != e.asks.uid {
		return status
	}
	return before
}

// onlyMatters returns of the messages about a status those that say how the matters stand: of one that opens none that it ends.
func onlyMatters(messages []notify.Message) []notify.Message {
	open := map[notify.Matter]bool{}
	of := func(m notify.Message) notify.Matter {
		return notify.Matter{Kind: m.Matter.Kind, Object: m.Matter.Object, Field: m.Matter.Field}
	}
	for _, m := range messages {
		open[of(m)] = open[of(m)] || m.Matter.Phase == notify.Opens
	}
	return slices.DeleteFunc(messages, func(m notify.Message) bool {
		return m.Matter.Phase == notify.Once || m.Matter.Phase == notify.Ends && open[of(m)]
	})
}

// sendNews sends messages about an app. Those that an earlier process may have sent are for the Outlet alone.
func (c *Controller) sendNews(key app.Key, news heldNews) {
	for _, m := range news.messages {
		if !news.again {
			c.emitMessage(key, m)
		} else if m, _, ok := c.messageOf(key, m); ok {
			c.Outlet.AcceptAgain(m)
		}
	}
}

// holdBack takes the newest messages of an app in place of those that it holds back, and reports whether they wait.
func (c *Controller) holdBack(key app.Key, news heldNews, waits bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.appSet[key]
	switch {
	case e == nil:
		return false
	case !waits:
		e.news.held = heldNews{}
		return false
	case e.news.held.messages == nil:
		e.news.until = time.Now().Add(findings.HoldPause)
	}
	e.news.held = news
	c.settles.AddAfter(key, time.Until(e.news.until))
	return true
}

// releaseHeld sends the messages of an app that it has held back, unless the app is being deleted. It returns how long they still have to wait.
func (c *Controller) releaseHeld(key app.Key) time.Duration {
	c.mu.Lock()
	e := c.appSet[key]
	if e == nil || e.news.held.messages == nil {
		c.mu.Unlock()
		return 0
	}
	if wait := time.Until(e.news.until); wait > 0 {
		c.mu.Unlock()
		return wait
	}
	held := e.news.held
	e.news.held = heldNews{}
	if e.app.Deleting {
		held = heldNews{}
	}
	c.mu.Unlock()
	c.sendNews(key, held)
	return 0
}

// failedSource returns the source that an app reads, where that cannot be fetched and so has a message of its own; the zero value for none.
func (c *Controller) failedSource(key app.SourceKey) object.ID {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key]
	if e != nil && e.base != (app.SourceKey{}) {
		e = c.sourceSet[e.base]
	}
	if e == nil || e.cr == nil || e.state.Err == nil {
		return object.ID{}
	}
	return e.cr.ID()
}
