package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestAnAnswerIsToldFromTheWantOfOne(t *testing.T) {
	of := schema.GroupResource{Resource: "configmaps"}
	lost := func(err error) error { return &url.Error{Op: "Get", URL: "https://server", Err: err} }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{lost(syscall.ECONNREFUSED), true},
		{lost(context.Canceled), false},
		{fmt.Errorf("read: %w", lost(context.DeadlineExceeded)), false},
		{apierrors.NewInternalError(errors.New("etcdserver: request timed out")), true},
		{apierrors.NewInternalError(errors.New("failed to create typed patch object")), true}, // by a webhook, whose text is behind "Internal error occurred"
		{refusedApply(`failed to create typed patch object (shop/migrate; batch/v1, Kind=Job): .spec.template: expected map`), false},
		{apierrors.NewServiceUnavailable("starting"), true},
		{apierrors.NewTooManyRequests("later", 1), true},
		{fmt.Errorf("list: %w", apierrors.NewServerTimeout(of, "list", 1)), true},
		{apierrors.NewNotFound(of, "a"), false},
		{apierrors.NewForbidden(of, "a", nil), false},
		{apierrors.NewConflict(of, "a", nil), false},
		{apierrors.NewResourceExpired("too old"), false},
	} {
		if got := cluster.IsUnanswered(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

// refusedApply is the API server's answer to a server-side apply whose fields do not fit the schema.
func refusedApply(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message}}
}

// answering answers every request alike.
type answering func() (*http.Response, error)

func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a() }

// TestAFailedDiscoveryMayPass: whatever stood in its way, the server has not said that it does not serve the kind.
func TestAFailedDiscoveryMayPass(t *testing.T) {
	status := func(code int) answering {
		return func() (*http.Response, error) {
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}, nil
		}
	}
	for name, c := range map[string]struct {
		answer answering
		want   error
	}{
		"no server":         {func() (*http.Response, error) { return nil, syscall.ECONNREFUSED }, live.ErrUnanswered},
		"a slow API":        {func() (*http.Response, error) { return nil, context.DeadlineExceeded }, live.ErrUnanswered},
		"an API that fails": {status(http.StatusServiceUnavailable), live.ErrUnanswered},
		"a right that lags": {status(http.StatusForbidden), live.ErrDoubtful},
		"an unserved kind":  {status(http.StatusNotFound), live.ErrUnknownKind},
	} {
		client, err := cluster.NewClient(&rest.Config{Host: "http://server", Transport: c.answer})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Resource(deployments)
		for _, kind := range []error{live.ErrUnanswered, live.ErrDoubtful, live.ErrUnknownKind} {
			if errors.Is(err, kind) != errors.Is(c.want, kind) {
				t.Errorf("%s: %v: is it %q: %t", name, err, kind, errors.Is(err, kind))
			}
		}
	}
}
