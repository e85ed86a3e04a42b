package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// server serves nothing, and counts how often it is asked.
type server struct {
	discoverer
	asked int
	err   error
}

func (s *server) ServerResourcesForGroupVersionWithContext(context.Context, string) (*metav1.APIResourceList, error) {
	s.asked++
	return nil, s.err
}

// TestAKindThatIsNotServedIsAskedForLessAndLess where a watch of CRDs says when that may have changed; an error, and a client without such a
// watch, is asked again each second.
func TestAKindThatIsNotServedIsAskedForLessAndLess(t *testing.T) {
	absent := apierrors.NewNotFound(schema.GroupResource{}, "")
	for name, c := range map[string]struct {
		watched     bool
		err         error
		invalidated bool
		want        int
	}{
		"with a watch":      {true, absent, false, 10}, // after 1, 3, 7, 15, 31, 63, 127, 255 s, then every 5 min
		"a CRD has changed": {true, absent, true, 18},  // from the beginning
		"an error":          {true, errors.New("broken"), false, 601},
		"without a watch":   {false, absent, false, 601},
	} {
		t.Run(name, func(t *testing.T) {
			now := testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			s := &server{err: c.err}
			k := newKinds(s, now)
			client := &Client{kinds: k}
			if c.watched {
				client.InvalidatedByWatch()
			}
			for second := range 601 {
				if c.invalidated && second == 300 {
					client.InvalidateGroup("example.com")
				}
				if _, err := k.resource(object.GVK{Group: "example.com", Version: "v1", Kind: "Widget"}); err == nil {
					t.Fatal("served")
				}
				now.SetTime(now.Now().Add(time.Second))
			}
			if s.asked != c.want {
				t.Errorf("asked %d times within ten minutes, want %d", s.asked, c.want)
			}
		})
	}
}
