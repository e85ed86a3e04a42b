package configmap

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/app"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOfManyWritesWithoutAnAnswerTheFirstAndTheLastAreRemembered(t *testing.T) {
	var s Store
	key := app.Key{Kind: "Kustomization", Namespace: "a", Name: "b"}
	text := func(n int) textSum { return sha256.Sum256(fmt.Append(nil, n)) }
	const writes = 10 * maxUnanswered
	for n := range writes {
		s.addUnanswered(key, text(n))
		s.addUnanswered(key, text(n)) // again
	}
	want := []textSum{text(0)}
	for n := writes - maxUnanswered + 1; n < writes; n++ {
		want = append(want, text(n))
	}
	if diff := cmp.Diff(want, s.unanswered(key)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatTheServerSurelyHasNotStoredIsNotRemembered(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{apierrors.NewForbidden(maps, "a", errors.New("no")), false},
		{apierrors.NewRequestEntityTooLargeError("big"), false},
		{apierrors.NewTooManyRequests("later", 1), false},
		{fmt.Errorf("save: %w", apierrors.NewForbidden(maps, "a", errors.New("no"))), false},
		{apierrors.NewTimeoutError("slow", 1), true},
		{apierrors.NewServerTimeout(maps, "patch", 1), true},
		{apierrors.NewInternalError(errors.New("etcd")), true},
		{errors.New("connection reset by peer"), true},
		{context.DeadlineExceeded, true},
	} {
		if got := mayBeStored(tt.err); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
