package controller

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// answer replaces an app's status by that of a report, and takes the requests off its custom resource that the report answers. It returns the status that is
// there then. After an error it is not known which one is.
func (c *Controller) answer(ctx context.Context, e appEntry, r report.Report) (object.Object, error) {
	answered := e.front.AnsweredRequests(e.cr, r)
	for {
		next := e.status(r)
		err := c.writeAnswer(ctx, e, next, answered)
		if isTooLarge(err) {
			e.tooLarge = lengthOf(next) / 16 * 15 // a word less in it does not make it fit
		}
		c.noteAnswer(e, statusAfterWrite(next, err))
		if !isTooLarge(err) || lengthOf(e.status(r)) >= e.tooLarge {
			return next, err
		}
	}
}

// noteAnswer keeps what is known of an app's status after a write.
func (c *Controller) noteAnswer(e appEntry, wrote digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.appSet[e.app.Key]; now != nil && now.asks.uid == e.asks.uid {
		now.wrote, now.tooLarge = wrote, e.tooLarge
	}
}

// writeAnswer makes the writes of answer. Where the status is no subresource, as in Argo CD's own CRD, both are one write of the custom
// resource itself, as it was when the status was made.
func (c *Controller) writeAnswer(ctx context.Context, e appEntry, next object.Object, answered []field.Pointer) error {
	if c.isWhole(e.gvk) {
		return c.answerWhole(ctx, e, next, answered)
	}
	if len(answered) == 0 {
		var err error
		if !isStatusWritten(e.cr, e.wrote, next) {
			err = c.writeSubresource(ctx, e, next)
		}
		if c.lacksSubresource(e.gvk, err) {
			return c.answerWhole(ctx, e, next, answered)
		}
		return asGoneAnswer(err)
	}
	first, last := splitAnswered(answered)
	if err := c.removeAnswered(ctx, e, first); err != nil {
		return err
	}
	if next != nil {
		err := c.writeSubresource(ctx, e, next)
		if c.lacksSubresource(e.gvk, err) {
			return c.answerWhole(ctx, e, next, last)
		}
		if err != nil {
			return asGoneAnswer(err)
		}
	}
	return c.removeAnswered(ctx, e, last)
}

// writeSubresource replaces a status that is a subresource. The next one is compared with this one, also where the watch has not brought it by then.
func (c *Controller) writeSubresource(ctx context.Context, e appEntry, next object.Object) error {
	now, err := c.patchAs(ctx, statusManager, patched{e.gvk, e.cr, "status"}, statusPatch(next))
	if err == nil {
		c.answered(e, now)
	}
	return err
}

// splitAnswered splits requests into those that are removed before the status is written, and those that are removed after it. A field beside the spec is
// removed first: next to a status that says that it has ended, it would ask for the same again. A request in an annotation is removed last: its client reads
// the status then.
func splitAnswered(answered []field.Pointer) (first, last []field.Pointer) {
	for _, p := range answered {
		if len(p) == 1 {
			first = append(first, p)
		} else {
			last = append(last, p)
		}
	}
	return first, last
}

// removeAnswered removes requests, unless there are others in their place.
func (c *Controller) removeAnswered(ctx context.Context, e appEntry, answered []field.Pointer) error {
	if len(answered) == 0 {
		return nil
	}
	ops := make([]operation, 0, 2*len(answered))
	for _, p := range answered {
		ops = append(ops, operation{"test", pointerText(p), e.cr.At(p...)}, operation{"remove", pointerText(p), nil})
	}
	err := c.patch(ctx, e.gvk, e.cr, "", ops)
	if apierrors.IsInvalid(err) {
		return nil
	}
	return asGoneAnswer(err)
}

// answerWhole writes into the custom resource itself.
func (c *Controller) answerWhole(ctx context.Context, e appEntry, next object.Object, answered []field.Pointer) error {
	if len(answered) == 0 && isStatusWritten(e.cr, e.wrote, next) {
		return nil
	}
	ops := []operation{{"replace", "/metadata/resourceVersion", e.cr.ResourceVersion()}}
	if next != nil {
		ops = append(ops, operation{"add", "/status", next})
	}
	for _, p := range answered {
		ops = append(ops, operation{Op: "remove", Path: pointerText(p)})
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	r, err := c.resource(e.gvk, e.cr.Namespace())
	if err != nil {
		return err
	}
	got, err := r.Patch(ctx, e.cr.Name(), types.JSONPatchType, body, metav1.PatchOptions{FieldManager: statusManager})
	if err != nil {
		return asGoneAnswer(err)
	}
	now := object.Object(got.Object)
	kept, _ := now.At("status").(map[string]any)
	taken := field.EqualValues(map[string]any(next), kept)
	c.setWhole(e.gvk, taken)
	c.answered(e, now)
	if had, _ := e.cr.At("status").(map[string]any); !taken && field.EqualValues(had, kept) {
		return errDropped
	}
	return nil
}

// errDropped says that the server left a status out of a write of the custom resource itself. It does so where the status is a subresource: the
// answer that said otherwise was wrong, and the write has to be repeated.
var errDropped = errors.New("the API server has dropped the status")

// answered takes in what the server has answered to our own write or read, before the watch reports it: also what a user has asked for since, which an
// event that is no newer than the answer brings no more.
func (c *Controller) answered(e appEntry, now object.Object) {
	seen, err := c.observeApp(&e, live.Event{ID: now.ID(), GVK: e.gvk, Object: now, Depth: live.Full})
	if err != nil {
		return // the watch brings it, too
	}
	c.mu.Lock()
	known := c.appSet[e.app.Key]
	if known == nil || known.asks.uid != seen.asks.uid || known.version > seen.version {
		c.mu.Unlock()
		return
	}
	changed := c.replaceEntry(known, seen)
	c.mu.Unlock()
	c.followChange(now.ID(), changed)
}

// errGone says that the server does not find a custom resource. If it was deleted the watch is about to report it; else the answer was wrong, and
// the write has to be repeated.
var errGone = errors.New("the custom resource is not found")

// retryGone is the pause before a write of a custom resource that was not found is repeated.
const retryGone = time.Second

func asGoneAnswer(err error) error {
	if apierrors.IsNotFound(err) {
		return errGone
	}
	return err
}

func pointerText(p field.Pointer) string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// isWhole reports whether the kind's status is known to be a field like any other.
func (c *Controller) isWhole(gvk object.GVK) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.whole[gvk]
}

// lacksSubresource reports whether the answer to a write of a kind's status means that the status is no subresource: it is not found. Where
// one was written before, a single such answer is wrong.
func (c *Controller) lacksSubresource(gvk object.GVK, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.subresource[gvk]
	if err == nil || apierrors.IsNotFound(err) {
		c.subresource[gvk] = err == nil
	}
	return apierrors.IsNotFound(err) && !known
}

func (c *Controller) setWhole(gvk object.GVK, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole[gvk] = whole
}
