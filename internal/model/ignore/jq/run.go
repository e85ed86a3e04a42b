package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/truce-gitops/truce/internal/model/field"
)

// AnswerRequest is the worker's side: it parses and runs the expressions of one request of Evaluator.
func AnswerRequest(ctx context.Context, input []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(input, &r); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	git, err := decodeNumbers(r.Git)
	if err != nil {
		return nil, err
	}
	live, err := decodeNumbers(r.Live)
	if err != nil {
		return nil, err
	}
	var out reply
	for _, q := range r.Queries {
		out.Answers = append(out.Answers, runQuery(ctx, q, git, live))
	}
	return json.Marshal(out)
}

// decodeNumbers reads an object for gojq, which takes numbers as json.Number.
func decodeNumbers(text json.RawMessage) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return v, nil
}

func runQuery(ctx context.Context, query string, git, live any) (a answer) {
	defer func() {
		if recover() != nil { // what it says may quote the object
			a = answer{Err: "gojq panics on it"}
		}
	}()
	parsed, err := gojq.Parse(query)
	if err != nil {
		return answer{Err: err.Error()}
	}
	code, err := gojq.Compile(pathsOf(parsed))
	if err != nil {
		return answer{Err: err.Error()}
	}
	ctx, cancel := withProcessorTime(ctx, Time)
	defer cancel()
	a = answer{Positional: countsItems(parsed)}
	if git == nil && live == nil {
		return a.with(onNothing(ctx, code))
	}
	var gitErr, liveErr error
	if git != nil {
		a.Git, gitErr = selected(ctx, code, git)
	}
	if live != nil {
		a.Live, liveErr = selected(ctx, code, live)
	}
	return a.with(errors.Join(gitErr, liveErr))
}

// onNothing finds out what is wrong with an expression whatever it runs on. That it fails without an object says nothing of that.
func onNothing(ctx context.Context, code *gojq.Code) error {
	_, err := selected(ctx, code, nil)
	if errors.Is(err, context.Canceled) || errors.Is(err, errRoot) || errors.Is(err, errMany) {
		return err
	}
	return nil
}

func (a answer) with(err error) answer {
	switch {
	case err == nil:
		return a
	case errors.Is(err, context.Canceled):
		return answer{Slow: true}
	}
	text, _, _ := strings.Cut(err.Error(), "\n") // one of the two objects is enough
	return answer{Err: text}
}

// pathsOf is path(query): where del(query), which Argo CD runs, would delete.
func pathsOf(query *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: "path", Args: []*gojq.Query{query}}}}
}

var errMany = fmt.Errorf("it selects more than %d fields", maxPaths)

// selected lists the fields that the expression selects in v. An expression that comes upon null where it wants a list, a text or the
// like has come upon something that this object lacks: what it has selected until then stands, as absent fields are no error.
func selected(ctx context.Context, code *gojq.Code, v any) ([]field.Pointer, error) {
	var out []field.Pointer
	iter := code.RunWithContext(ctx, v)
	for {
		next, more := iter.Next()
		if !more {
			return outermost(out), nil
		}
		switch next := next.(type) {
		case error:
			if isNullError(next) {
				return outermost(out), nil
			}
			return nil, next
		case []any:
			paths, err := pointers(v, next)
			if err != nil {
				return nil, err
			}
			if out = append(out, paths...); len(out) > maxPaths {
				return nil, errMany
			}
		}
	}
}

// isNullError reports whether an error is about null. gojq's errors have no other mark: their types are its own.
func isNullError(err error) bool {
	text := err.Error()
	return !strings.HasPrefix(text, "invalid path") && !strings.HasPrefix(text, "error:") &&
		(strings.HasSuffix(text, ": null") || strings.HasSuffix(text, " and null") || strings.Contains(text, ": null and "))
}
