package watch

import (
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// streamSilence is how long a streamed list (KEP-3157) may send nothing before its end. client-go waits for the bookmark that ends it as long as
// the server keeps the watch: 5 to 10 minutes.
const streamSilence = 10 * time.Second

// errUnfinished makes client-go list in pages.
var errUnfinished = errors.New("the API server's streamed list has no end")

// streamed is the streamed list that is on the way, if any. The zero value is ready for use; it may be used concurrently.
type streamed struct {
	mu         sync.Mutex
	silence    *time.Timer // nil while no list is on the way
	unfinished bool        // the last one had no end
}

// begin refuses a streamed list after one that had no end, once.
func (s *streamed) begin(o metav1.ListOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unfinished || !isStreamed(o) {
		return nil
	}
	s.unfinished = false
	return errUnfinished
}

// await stops the events of a streamed list when the list is silent for streamSilence and has not ended.
func (s *streamed) await(o metav1.ListOptions, events apiwatch.Interface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isStreamed(o) {
		return
	}
	s.stop()
	s.silence = time.AfterFunc(streamSilence, func() {
		s.mu.Lock()
		s.unfinished = s.silence != nil
		s.mu.Unlock()
		events.Stop()
	})
}

// goesOn takes note of an object of a streamed list.
func (s *streamed) goesOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silence != nil {
		s.silence.Reset(streamSilence)
	}
}

// end takes note that a list has come to its end.
func (s *streamed) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *streamed) stop() {
	if s.silence != nil {
		s.silence.Stop()
		s.silence = nil
	}
}

func isStreamed(o metav1.ListOptions) bool {
	return o.SendInitialEvents != nil && *o.SendInitialEvents
}
