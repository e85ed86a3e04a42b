// Package jq answers: which fields do a user's jq expressions select?
//
// In: expressions as Argo CD's ignoreDifferences takes them (what del(expression) would delete), Git's object and the live one.
// Out: for each expression the paths that jq's path(expression) gives in the two, or why there are none.
// Promise: expressions are parsed and run in a worker process only, with a second of a processor's time each and with a limit on memory; none
// of them can hurt the process that asks, reach the network, a file or the environment, or take that time from the others. An error
// about a Secret quotes nothing of it.
// Not here: what a selected field means (ignore), the worker's processes (render/worker).
package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// The limits of one expression on one object.
const (
	// Time is how long it may run on a processor; Argo CD's default (controller.ignore.normalizer.jq.timeout) is the same on the clock,
	// by which a busy machine would refuse an expression that is quick.
	Time = time.Second
	// Memory is what the worker process may hold, in bytes: the objects, the expression's values, and the program itself.
	Memory = 256 << 20

	maxQuery = 4 << 10 // bytes of an expression: what it can nest is bounded by it
	maxPaths = 1000    // that it may select in one object
	// grace is what a process may need beside the expressions, which it ends itself: its start is a part of the first of them.
	grace = time.Second / 2
)

// Worker runs one request of Evaluator in a process of its own, and gives its answer back: Answer must run there. A process that
// needs more than the limits is ended; the error then wraps ErrLimit, and where it is the time has a method Timeout that says so.
type Worker func(ctx context.Context, input []byte, limits Limits) ([]byte, error)

// ErrLimit is wrapped by the error of a request that needed more than its Limits.
var ErrLimit = errors.New("over its limits")

// Limits are those of one request.
type Limits struct {
	Time   time.Duration // on a processor
	Memory int64         // bytes
}

// Evaluator asks a worker. It is safe for concurrent use.
type Evaluator struct {
	Worker Worker

	spoilt spoilt
}

type request struct {
	Queries   []string
	Git, Live json.RawMessage `json:",omitempty"`
}

type reply struct {
	Answers []answer
}

type answer struct {
	Git, Live  []field.Pointer `json:",omitempty"`
	Positional bool            `json:",omitempty"`
	Err        string          `json:",omitempty"`
	Slow       bool            `json:",omitempty"`
}

// Select implements reconcile.Queries.
func (e *Evaluator) Select(ctx context.Context, queries []string, git, live object.Object) (map[string]ignore.Answer, error) {
	out := map[string]ignore.Answer{}
	var ask []string
	for _, q := range queries {
		if err := e.refuse(q); err != nil {
			out[q] = ignore.Answer{Err: err}
		} else {
			ask = append(ask, q)
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	r, err := newRequest(git, live)
	if err != nil {
		return nil, err
	}
	if err := e.askAll(ctx, r, ask, out); err != nil {
		return nil, err
	}
	if redact.IsSecret(git.ID()) || redact.IsSecret(live.ID()) {
		hideErrors(out)
	}
	return out, nil
}

// newRequest packs the objects. The entries of live's managers are no field that an expression could mean.
func newRequest(git, live object.Object) (request, error) {
	var r request
	var err error
	if git != nil {
		if r.Git, err = json.Marshal(git); err != nil {
			return r, fmt.Errorf("encode Git's %s: %w", git.ID(), err)
		}
	}
	if live == nil {
		return r, nil
	}
	shallow := make(object.Object, len(live))
	for k, v := range live {
		shallow[k] = v
	}
	if m, ok := live["metadata"].(map[string]any); ok {
		meta := make(map[string]any, len(m))
		for k, v := range m {
			if k != "managedFields" {
				meta[k] = v
			}
		}
		shallow["metadata"] = meta
	}
	if r.Live, err = json.Marshal(shallow); err != nil {
		return r, fmt.Errorf("encode live %s: %w", live.ID(), err)
	}
	return r, nil
}

// askAll asks for all expressions at once, and for each by itself if one of them has ended the worker.
func (e *Evaluator) askAll(ctx context.Context, r request, queries []string, out map[string]ignore.Answer) error {
	answers, err := e.ask(ctx, r, queries)
	if err == nil {
		for i, q := range queries {
			out[q] = e.taken(q, answers[i])
		}
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	if len(queries) == 1 {
		out[queries[0]] = ignore.Answer{Err: e.spoil(queries[0], err)}
		return nil
	}
	for _, q := range queries {
		if err := e.askAll(ctx, r, []string{q}, out); err != nil {
			return err
		}
	}
	return nil
}

func (e *Evaluator) ask(ctx context.Context, r request, queries []string) ([]answer, error) {
	r.Queries = queries
	input, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	output, err := e.Worker(ctx, input, Limits{Time: time.Duration(len(queries))*Time + grace, Memory: Memory})
	if err != nil {
		return nil, err
	}
	var back reply
	if err := json.Unmarshal(output, &back); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if len(back.Answers) != len(queries) {
		return nil, errors.New("decode: answers are missing")
	}
	return back.Answers, nil
}

func (e *Evaluator) taken(query string, a answer) ignore.Answer {
	out := ignore.Answer{Git: a.Git, Live: a.Live, Positional: a.Positional}
	if a.Err != "" {
		out.Err = errors.New(a.Err)
	}
	if a.Slow {
		out.Err = e.spoil(query, errSlow)
	}
	return out
}

func (e *Evaluator) refuse(query string) error {
	if len(query) > maxQuery {
		return fmt.Errorf("it has %d bytes; %d are allowed", len(query), maxQuery)
	}
	if !utf8.ValidString(query) {
		return errors.New("it is not UTF-8")
	}
	return e.spoilt.error(query, time.Now())
}

var errHushed = errors.New("it does not run on this Secret; what it says is withheld, since it may quote the Secret")

// hideErrors takes the texts out of errors: they quote values.
func hideErrors(answers map[string]ignore.Answer) {
	for q, a := range answers {
		if a.Err != nil {
			answers[q] = ignore.Answer{Err: errHushed}
		}
	}
}
