package deliver

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// SendOnce sends one content now, without a queue and without another try. Its error holds no credential.
func (d *Deliverer) SendOnce(ctx context.Context, p Loaded, c payload.Content) error {
	return d.post(ctx, p, c)
}

// openHeaders are those that hold no credential.
var openHeaders = []string{"Content-Type", "Accept", "Gotk-Component"}

// hidden stands where a credential is, or may be.
const hidden = "***"

// ShowRequest returns the request that SendOnce would send, for people to read: of its address the server alone, and no credential anywhere.
func ShowRequest(p Loaded, c payload.Content) (payload.Request, error) {
	target, lack := targetOf(p)
	if lack != "" {
		return payload.Request{}, errors.New(lack)
	}
	known := secretsOf(p, target, "")
	if target.Token == "" && keyOfAny(p.SecretData, "githubAppID") != "" {
		target.Token = hidden
	}
	if needsIdentity(target) {
		target.Token, target.IsBearer = hidden, true
	}
	r, err := payload.BuildRequest(target, c)
	if err != nil {
		return payload.Request{}, errors.New(known.Line(err.Error(), 2*longestSaying))
	}
	if u, err := url.Parse(r.URL); err == nil {
		r.URL = u.Scheme + "://" + u.Host + "/" + hidden
	}
	for name := range r.Headers {
		if !slices.Contains(openHeaders, name) {
			r.Headers[name] = hidden
		}
	}
	r.Body = []byte(known.Text(string(r.Body)))
	return r, nil
}

// IsDue reports whether notes, the oldest first, would have been sent by then: no other is waited for any more.
func (w Windows) IsDue(notes []route.Note, at time.Time) bool {
	items := make([]outbox.Item, len(notes))
	for i, n := range notes {
		items[i].Note = n
	}
	return len(items) > 0 && w.wait(items, at) <= 0
}
