package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/report/notify/payload"
)

// The bounds of the comments of one pull request that are looked through.
const (
	mostPages       = 20
	longestComments = 16 << 20 // of one page, in bytes
	mostTried       = 5        // of a page
)

// comment updates the comment of a pull request that begins as it would begin, or creates it. Anyone can copy that beginning: a comment that may not be
// changed, or is gone, is passed over.
func (w way) comment(ctx context.Context, q payload.Request) error {
	for page := 1; page <= mostPages; page++ {
		marked, more, err := w.marked(ctx, q, page)
		if err != nil {
			return err
		}
		if done, err := w.update(ctx, q, marked); done || err != nil {
			return err
		}
		if !more {
			_, err := w.send(ctx, q, longestAnswer)
			return err
		}
	}
	return &sendError{text: fmt.Sprintf("the pull request has more than %d pages of comments: the one to update is not found", mostPages), final: true}
}

// marked returns the IDs of the comments of a page that may be ours, the oldest first, and whether there may be another page.
func (w way) marked(ctx context.Context, q payload.Request, page int) (ids []int64, more bool, err error) {
	address := q.Thread.List
	if q.Thread.Page > 0 {
		address += strconv.Itoa(page)
	}
	body, err := w.send(ctx, payload.Request{Method: http.MethodGet, URL: address, Headers: q.Headers}, longestComments)
	if err != nil {
		return nil, false, err
	}
	var all []struct {
		ID   int64  `json:"id"`
		Body string `json:"body"`
	}
	if json.Unmarshal(body, &all) != nil {
		return nil, false, &sendError{text: "the comments of the pull request cannot be read"}
	}
	for _, c := range all {
		if strings.HasPrefix(c.Body, q.Thread.Marker) && len(ids) < mostTried {
			ids = append(ids, c.ID)
		}
	}
	return ids, q.Thread.Page > 0 && len(all) >= q.Thread.Page, nil
}

// update updates the first of the comments that may be changed, and reports whether there was one.
func (w way) update(ctx context.Context, q payload.Request, ids []int64) (bool, error) {
	for _, id := range ids {
		_, err := w.send(ctx, payload.Request{Method: q.Thread.Method, URL: q.Thread.Update + strconv.FormatInt(id, 10), Headers: q.Headers, Body: q.Body}, longestAnswer)
		if refused := (*sendError)(nil); errors.As(err, &refused) && (refused.status == http.StatusForbidden || refused.status == http.StatusNotFound) {
			continue
		}
		return true, err
	}
	return false, nil
}
