// Package notification answers: do messages reach a Provider, and which ones would an Alert have sent?
//
// In: a Provider or an Alert of a cluster with its Secrets, read with the user's rights; the journal of the controller.
// Out: what came of each sample that was sent to the Provider; the messages of the past, joined as they are sent.
// Promise: nothing is written to the cluster; no credential is in a result.
// Not here: printing (cli), what Providers and Alerts mean (dialect), sending (notify/deliver).
package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/notices"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/sample"
)

// ReadProvider reads a Provider and the Secrets that it names. One that truce would not send to is an error.
func ReadProvider(ctx context.Context, r live.Reader, key route.Key) (deliver.Loaded, error) {
	cr, err := readResource(ctx, r, registry.Providers, key)
	if err != nil {
		return deliver.Loaded{}, err
	}
	p := flux.Notifications{}.Provider(cr)
	if len(p.Problems) > 0 {
		return deliver.Loaded{}, fmt.Errorf("%s %s: %s", registry.Providers.Kind, key, joinProblems(p.Problems))
	}
	return notices.LoadProvider(ctx, r, p)
}

func readResource(ctx context.Context, r live.Reader, gvk object.GVK, key route.Key) (object.Object, error) {
	cr, err := r.Get(ctx, gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name})
	switch {
	case errors.Is(err, live.ErrNotFound), errors.Is(err, live.ErrUnknownKind):
		return nil, fmt.Errorf("%s %s is not there: kubectl get %ss -A lists all", gvk.Kind, key, strings.ToLower(gvk.Kind))
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, key, err)
	}
	return cr, nil
}

func joinProblems(all []app.Problem) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// Choice says which samples are sent.
type Choice struct {
	Reasons []string // empty for all
	Commit  string   // the SHA whose status is written; only for Providers that write the status of commits
	Pull    string   // the number of the pull request; only for Providers that comment
}

// Sample is one message that is sent to a Provider, alone.
type Sample struct {
	Reason  string
	Content payload.Content
	Request payload.Request // without credentials; its zero value where it cannot be made
	Err     error           // why it cannot be made, or was not taken; nil for success
}

// Samples returns the samples that a Provider gets, with their requests.
func Samples(p deliver.Loaded, c Choice, at time.Time) ([]Sample, error) {
	if payload.IsCommitStatus(p.Type) != (c.Commit != "") {
		return nil, fmt.Errorf("%s %s is of type %s: a commit (--commit) is for the types that write the status of commits, and needed there", registry.Providers.Kind, p.Key, p.Type)
	}
	if payload.IsComment(p.Type) != (c.Pull != "") {
		return nil, fmt.Errorf("%s %s is of type %s: a pull request (--change-request) is for the types that comment on one, and needed there", registry.Providers.Kind, p.Key, p.Type)
	}
	from := route.Alert{Metadata: map[string]string{route.ChangeRequest: c.Pull}, Key: route.Key{Namespace: p.Key.Namespace, Name: "truce-notify-test"}, Summary: "a sample of truce notify test: nothing has happened"}
	states := map[string]matter.State{}
	var out []Sample
	for _, m := range sample.Messages(at, p.Key.Namespace) {
		if c.Commit != "" {
			m.Revision = strings.ReplaceAll(m.Revision, sample.Revision, "sha1:"+c.Commit)
		}
		if len(c.Reasons) > 0 && !slices.Contains(c.Reasons, m.Reason) {
			continue
		}
		from.Sources = []route.Source{{Kind: m.About.Kind, Namespace: m.About.Namespace, Name: m.About.Name}}
		was := states[matter.KeyOf(m)]
		states[matter.KeyOf(m)], _ = matter.Advance(was, m)
		note, _ := payload.NoteFor(p.Type, from, m, was) // the Alert takes all
		for _, content := range payload.JoinMessages(p.Type, []route.Note{note}) {
			if content.Nothing {
				continue
			}
			s := Sample{Reason: m.Reason, Content: content}
			s.Request, s.Err = deliver.ShowRequest(p, content)
			out = append(out, s)
		}
	}
	return out, nil
}

// Send sends a sample whose request could be made.
func Send(ctx context.Context, d *deliver.Deliverer, p deliver.Loaded, s Sample) Sample {
	if s.Err == nil {
		s.Err = d.SendOnce(ctx, p, s.Content)
	}
	return s
}

// Reasons returns the reasons of the samples, each once.
func Reasons() []string { return sample.Reasons() }
