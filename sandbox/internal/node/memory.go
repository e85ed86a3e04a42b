package node

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addresses gives each pod an address of its own out of 10.244.0.0/16. It is
// safe for concurrent use.
type addresses struct {
	mu    sync.Mutex
	owner map[string]types.UID
	next  netip.Addr
}

func podNetwork() netip.Prefix { return netip.MustParsePrefix("10.244.0.0/16") }

func newAddresses() *addresses {
	return &addresses{owner: map[string]types.UID{}, next: podNetwork().Addr()}
}

// keep notes an address that a pod has already, from an earlier run.
func (a *addresses) keep(ip string, pod types.UID) {
	if ip == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owner[ip] = pod
}

func (a *addresses) release(ip string, pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner[ip] == pod {
		delete(a.owner, ip)
	}
}

// of returns the pod's address, the one it has or a free one.
func (a *addresses) of(ip string, pod types.UID) (string, error) {
	if ip != "" {
		return ip, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 1 << 16 {
		if a.next = a.next.Next(); !podNetwork().Contains(a.next) {
			a.next = podNetwork().Addr().Next()
		}
		if _, taken := a.owner[a.next.String()]; !taken {
			a.owner[a.next.String()] = pod
			return a.next.String(), nil
		}
	}
	return "", errors.New("no free pod address")
}

// starts remembers when each pod began, to better than the whole seconds that
// the API keeps. It is safe for concurrent use.
type starts struct {
	mu sync.Mutex
	of map[types.UID]time.Time
}

func newStarts() *starts { return &starts{of: map[types.UID]time.Time{}} }

func (s *starts) at(pod *corev1.Pod, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began, known := s.of[pod.UID]; known {
		return began
	}
	if pod.Status.StartTime != nil {
		now = pod.Status.StartTime.Time
	}
	s.of[pod.UID] = now
	return now
}

func (s *starts) forget(pod types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, pod)
}
