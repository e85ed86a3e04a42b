package notices

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// silentServer answers when answer is closed: what it is asked for is not there.
type silentServer struct {
	live.Reader
	asked  int
	answer chan struct{}
}

func (s *silentServer) Get(ctx context.Context, _ object.GVK, _ object.ID) (object.Object, error) {
	s.asked++
	select {
	case <-s.answer:
		return nil, live.ErrNotFound
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestMessagesDoNotWaitForTheAPIServer: while Argo CD's settings are read, what is known of recipients is there for who asks; who waits for the settings
// asks nothing, gets the answer of who reads them, and may give up.
func TestMessagesDoNotWaitForTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := newSubscribers(Options{}), &silentServer{answer: make(chan struct{})}
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := s.load(t.Context(), server, configAge)
				errs <- err
			}()
		}
		synctest.Wait()
		key := s.keyOf("slack", "channel")
		if !s.admit(key) || !s.delivered(key, context.DeadlineExceeded) {
			t.Error("a recipient is not admitted")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.load(ctx, server, configAge); err == nil {
			t.Error("who has given up has got the settings")
		}
		close(server.answer)
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if server.asked != 1 {
			t.Errorf("%d requests, want one for all", server.asked)
		}
	})
}
