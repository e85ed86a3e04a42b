package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// FetchError is an error of which the reason is known, on its way to a source.Error.
type FetchError struct {
	Reason source.Reason
	Err    error
}

// Error is the cause.
func (f *FetchError) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *FetchError) Unwrap() error { return f.Err }

// Failed returns a *FetchError with a text.
func Failed(reason source.Reason, format string, args ...any) error {
	return &FetchError{reason, fmt.Errorf(format, args...)}
}

// The bounds of a message about a source, in bytes: of all, and of what the server says in it.
const (
	LongestMessage = 400
	LongestSaying  = 160
)

// Explain makes a source.Error: one bounded line without credentials, with the reason of its cause, if that has one. as is the error with its cause
// and the reason where no other is known, words what is shown of the cause. ctx is the caller's; bounded ends at the limit of the fetch, too.
func Explain(bounded, ctx context.Context, as source.Error, words string, secrets redact.Known) error {
	var known *FetchError
	var list *tree.Error
	switch {
	case ctx.Err() != nil:
		as.Reason, as.Err = "", context.Cause(ctx)
		return &as
	case bounded.Err() != nil:
		as.Reason, as.Err = source.Timeout, context.Cause(bounded)
		return &as
	case egress.IsRefused(as.Err):
		as.Reason = source.HostNotAllowed
	case errors.As(as.Err, &list):
		as.Reason = list.Reason
	case errors.As(as.Err, &known):
		as.Reason = known.Reason
	}
	if text := secrets.Line(words, LongestMessage); text != as.Err.Error() {
		as.Err = errors.New(text)
	}
	return &as
}

// DescribeNetworkError says why a server gave no answer, without its address as it was named, which may hold anything. The advice is what to do
// where it speaks plain HTTP.
func DescribeNetworkError(err error, advice string) string {
	var op *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record):
		return "the server speaks plain HTTP; " + advice + " if that is meant"
	case errors.As(err, &op) && op.Addr != nil:
		return op.Op + " " + op.Addr.String() + ": " + op.Err.Error()
	}
	return err.Error()
}
