package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/lookup"
)

// What the templates of one render may ask the cluster at most.
const (
	mostLookups = 200
	mostFound   = 32 << 20 // bytes, of all answers together
)

// questions answers what the templates of one build ask the cluster. It runs in the pool's process.
type questions struct {
	reader lookup.Reader
	asked  int
	bytes  int
	failed error // the newest answer that could not be had
}

// serve answers a question of the worker. Its error means a broken worker.
func (q *questions) serve(ctx context.Context, f frame, to io.Writer) error {
	var asks lookup.Question
	if err := f.into(kindLookup, &asks); err != nil {
		return err
	}
	found, err := q.find(ctx, asks)
	if err != nil {
		q.failed = err
		return writeFrame(to, kindFound, openedHead{Error: err.Error()})
	}
	return writeFrame(to, kindFound, openedHead{}, found)
}

func (q *questions) find(ctx context.Context, asks lookup.Question) ([]byte, error) {
	if q.reader == nil {
		return []byte("{}"), nil
	}
	if q.asked++; q.asked > mostLookups {
		return nil, fmt.Errorf("the chart asks for more than %d objects or lists, ask for a list instead: %w", mostLookups, render.ErrLimit)
	}
	found, err := q.reader.Lookup(ctx, asks)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	if q.bytes += len(text); q.bytes > mostFound {
		return nil, fmt.Errorf("the chart asks for more than %d MiB, ask for single objects or for one namespace: %w", mostFound>>20, render.ErrLimit)
	}
	return text, nil
}

// caused is the error of a build with what has kept the cluster from answering, so that it is found by errors.Is.
func (q *questions) caused(err error) error {
	if err == nil || q.failed == nil {
		return err
	}
	return &unansweredError{error: err, cause: q.failed}
}

type unansweredError struct {
	error
	cause error
}

// Is finds the cause, whose words the error has already.
func (e *unansweredError) Is(target error) bool { return errors.Is(e.cause, target) }
func (e *unansweredError) Unwrap() error        { return e.error }
