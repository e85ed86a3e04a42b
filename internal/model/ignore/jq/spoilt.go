package jq

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// pause is for how long an expression that ran into a limit is not tried again: each try takes a second and a process.
const pause = time.Minute

// maxSpoilt bounds how many of them are remembered.
const maxSpoilt = 1000

var (
	errSlow   = fmt.Errorf("it ran for longer than %s", Time)
	errMemory = errors.New("it needed more memory than an expression may")
)

// spoilt are the expressions that ran into a limit lately.
type spoilt struct {
	mu  sync.Mutex
	all map[string]spoiling
}

type spoiling struct {
	err   error
	until time.Time
}

func (s *spoilt) error(query string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.all[query]; ok && now.Before(x.until) {
		return x.err
	}
	delete(s.all, query)
	return nil
}

// spoil notes an expression that has ended its worker, and returns what is said of it. What else stops a worker, such as a machine
// without room for another process, is not the expression's fault.
func (e *Evaluator) spoil(query string, cause error) error {
	if !errors.Is(cause, ErrLimit) && !errors.Is(cause, errSlow) {
		return cause
	}
	err := errMemory
	if slow := (interface{ Timeout() bool })(nil); errors.Is(cause, errSlow) || errors.As(cause, &slow) && slow.Timeout() {
		err = errSlow
	}
	s := &e.spoilt
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxSpoilt {
		s.all = map[string]spoiling{}
	}
	s.all[query] = spoiling{err: err, until: time.Now().Add(pause)}
	return err
}
