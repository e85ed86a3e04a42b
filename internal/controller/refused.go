package controller

import (
	"context"
	"errors"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
)

// longestRefusal is the longest pause between two tries of the same credentials.
const longestRefusal = 5 * time.Minute

// refusedLogin is what is known of credentials that a server has refused: servers lock the accounts of who tries wrong ones often. The zero value is for none.
type refusedLogin struct {
	spec    source.Spec
	request string // of the source, by a person
	times   int
	until   time.Time
	err     error
}

// awaits returns why the same credentials were refused, while they are not to be tried again. Others, and a request by a person, are tried at once.
func (r refusedLogin) awaits(s dialect.Source, spec source.Spec, now time.Time) error {
	if r.times == 0 || r.spec != spec || r.request != s.Request || !now.Before(r.until) {
		return nil
	}
	return r.err
}

// after is what is known after a fetch that ended so.
func (r refusedLogin) after(s dialect.Source, spec source.Spec, err error, now time.Time) refusedLogin {
	var e *source.Error
	if !errors.As(err, &e) || e.Reason != source.AuthenticationFailed && !e.Rejected {
		return refusedLogin{}
	}
	if r.spec != spec || r.request != s.Request {
		r = refusedLogin{spec: spec, request: s.Request}
	}
	pause := min(retrySource<<min(r.times, 8), longestRefusal, max(s.Interval, time.Second))
	r.times, r.until, r.err = r.times+1, now.Add(pause), err
	return r
}

// fetchUnlessRefused fetches for a source, unless the server has refused the same credentials a short time ago.
func (c *Controller) fetchUnlessRefused(ctx context.Context, s dialect.Source, spec source.Spec) (source.Artifact, error) {
	refused := c.refused(s)
	if err := refused.awaits(s, spec, time.Now()); err != nil {
		return source.Artifact{}, err
	}
	got, err := c.Fetcher.Fetch(ctx, spec)
	c.setRefused(s, refused.after(s, spec, err, time.Now()))
	return got, err
}

// refused returns what is known of the credentials of a source.
func (c *Controller) refused(s dialect.Source) refusedLogin {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.sourceSet[s.Key]; e != nil {
		return e.refused
	}
	return refusedLogin{}
}

func (c *Controller) setRefused(s dialect.Source, r refusedLogin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entryOf(s.Key, s.UID); e != nil {
		e.refused = r
	}
}

// reportFetch reports a fetch to the metrics, and one that failed to the log. One that ended by a refusal of before has asked no server.
func (c *Controller) reportFetch(key app.SourceKey, begin time.Time, refused, err error) {
	if refused != nil && errors.Is(err, refused) {
		return
	}
	c.Observer.OnFetch(key, time.Since(begin), err)
	if err != nil {
		c.Log.Warn("fetch", "source", key.String(), "error", err.Error())
	}
}
