package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
