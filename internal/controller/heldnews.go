package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// reportedNews is what was reported of an app last.
type reportedNews struct {
	key   string   // of the newest
	held  heldNews // that is not sent yet; see holdBack
	until time.Time
}

// heldNews are messages that wait. Again says that an earlier process may have sent them: they go to the Outlet alone, which knows.
type heldNews struct {
	messages []notify.Message
	again    bool
}

// mayBeUnsent reports whether an earlier process has written a status about an app's missing files, and may have ended before it sent what it held back.
func (c *Controller) mayBeUnsent(key app.Key, r report.Report) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.appSet[key]
	return r.WithoutFiles() && c.Outlet != nil && e != nil && e.news.key == ""
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
	for _, m := range held.messages {
		if held.again {
			if m, _, ok := c.messageOf(key, m); ok {
				c.Outlet.Accept(m)
			}
			continue
		}
		c.emitMessage(key, m)
	}
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
