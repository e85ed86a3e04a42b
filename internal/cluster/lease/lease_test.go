package lease

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const length = 16 * time.Second

// answering is a server that answers each request after a while, and what it was asked for.
type answering struct {
	after time.Duration
	asked []string
}

// RoundTrip implements http.RoundTripper.
func (a *answering) RoundTrip(q *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, q.Method+" "+q.URL.RawQuery)
	select {
	case <-time.After(a.after):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("done"))}, nil
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}

// pass lets a bubble's time go by.
func pass(d time.Duration) { <-time.After(d) }

func ask(ctx context.Context, t *testing.T, via http.RoundTripper, method string) error {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, method, "http://server/object", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := via.RoundTrip(q)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if string(text) != "done" {
		t.Errorf("answer %q, %v", text, err)
	}
	return answer.Body.Close()
}

// TestAWriteNeedsATerm goes through the life of a process: it stands by, leads, renews late, renews, and is too late.
func TestAWriteNeedsATerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &answering{}
		term := NewTerm(length)
		via := term.Transport(server, server)
		try := func(when string, want error) {
			t.Helper()
			if err := ask(t.Context(), t, via, http.MethodPatch); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", when, err, want)
			}
			if err := ask(t.Context(), t, via, http.MethodGet); err != nil {
				t.Errorf("%s: a read: %v", when, err)
			}
		}
		try("before the election", errStandby)
		term.renewed(currentMoment(), 0)
		try("elected", nil)
		pass(length - 4*time.Second)
		try("just before the end", errLate)
		term.renewed(currentMoment(), 0)
		try("renewed", nil)
		pass(length)
		try("not renewed", errExpired)
		if !errors.Is(term.Err(), errExpired) {
			t.Errorf("ended by %v", term.Err())
		}
		<-term.Ended()
		term.renewed(currentMoment(), 0)
		try("renewed too late", errExpired)
	})
}

// TestAWriteCarriesItsTime: to the server by the query, whatever else is in it, and less the older the renewal is.
func TestAWriteCarriesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &answering{}
		term := NewTerm(length)
		term.renewed(currentMoment(), 0)
		pass(2 * time.Second)
		q, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://server/object?dryRun=All", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := term.Transport(server, server).RoundTrip(q); err != nil { //nolint:bodyclose // it has none
			t.Fatal(err)
		}
		if got := server.asked[0]; got != "DELETE dryRun=All&timeout=10s" {
			t.Errorf("asked %q", got)
		}
		if q.URL.RawQuery != "dryRun=All" {
			t.Errorf("the caller's request became %q", q.URL.RawQuery)
		}
	})
}

// TestAWriteIsWaitedForNoLongerThanTheTerm: not by the caller's context, and not by the server.
func TestAWriteIsWaitedForNoLongerThanTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := NewTerm(length)
		term.renewed(currentMoment(), 0)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		server := &answering{after: 5 * time.Second}
		if err := ask(ctx, t, term.Transport(server, server), http.MethodPost); err != nil {
			t.Errorf("a caller that has given up: %v", err)
		}
		if err := ask(ctx, t, term.Transport(server, server), http.MethodPost); !errors.Is(err, context.Canceled) || len(server.asked) != 1 {
			t.Errorf("a caller that had given up before: %v, and the server was asked %q", err, server.asked)
		}
		server.after = time.Hour
		begin := time.Now()
		err := ask(t.Context(), t, term.Transport(server, server), http.MethodPost)
		if got := time.Since(begin); !errors.Is(err, errUnanswered) || got != length-2*term.transit()-5*time.Second {
			t.Errorf("after %s: %v", got, err)
		}
		if term.stop() {
			t.Error("the lease would be given back, and the server may still do the write")
		}
	})
}

// TestAnotherHolderEndsTheTerm at once, with the writes under way.
func TestAnotherHolderEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := NewTerm(length)
		term.seen("other", "self") // before the election
		term.renewed(currentMoment(), 0)
		term.seen("self", "self")
		if err := term.Err(); err != nil {
			t.Fatal(err)
		}
		server := &answering{after: time.Hour}
		time.AfterFunc(time.Second, func() { term.seen("other", "self") })
		begin := time.Now()
		if err := ask(t.Context(), t, term.Transport(server, server), http.MethodPut); !errors.Is(err, errTaken) || time.Since(begin) != time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
	})
}

// slowDial is the way to a server on which something happens between a write's being let through and its first byte.
func slowDial(meanwhile func()) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		meanwhile()
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// TestNoByteLeavesAfterTheTerm is about a process that is stopped between the two.
func TestNoByteLeavesAfterTheTerm(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(*Term)
		want      error
	}{
		{"in time", func(*Term) {}, nil},
		{"another write waits for its connection", func(t *Term) { t.open[&write{leaveBy: currentMoment().add(-time.Hour)}] = false }, nil},
		{"the lease has expired", func(t *Term) { t.until = currentMoment().add(-time.Second) }, errExpired},
		{"the write is too late to end in time", func(t *Term) {
			for w := range t.open {
				w.leaveBy = currentMoment().add(-time.Second)
			}
		}, errLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := 0
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { done++ }))
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			term := NewTerm(time.Hour)
			term.renewed(currentMoment(), 0)
			writes := &http.Transport{TLSClientConfig: server.Client().Transport.(*http.Transport).TLSClientConfig, ForceAttemptHTTP2: true, DialContext: term.Dial(slowDial(func() {
				term.mu.Lock()
				defer term.mu.Unlock()
				c.meanwhile(term)
			}))}
			defer writes.CloseIdleConnections()
			client := &http.Client{Transport: term.Transport(http.DefaultTransport, writes)}
			answer, err := client.Post(server.URL, "text/plain", strings.NewReader("body"))
			if err == nil {
				err = answer.Body.Close()
			}
			if !errors.Is(err, c.want) || (done == 1) != (c.want == nil) {
				t.Errorf("%v, want %v; the server was asked %d times", err, c.want, done)
			}
		})
	}
}

// stored is a Lease in memory.
type stored struct {
	resourcelock.Interface
	holder string
}

func (s *stored) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: s.holder}, nil, nil
}

func (s *stored) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	s.holder = r.HolderIdentity
	return nil
}

func (s *stored) Identity() string { return "self" }

// TestOnlyOnesOwnLeaseIsGivenBack, and no renewal takes it again.
func TestOnlyOnesOwnLeaseIsGivenBack(t *testing.T) {
	for holder, want := range map[string]string{"self": "", "other": "other"} {
		s, term := &stored{holder: "self"}, NewTerm(length)
		l := term.Lock(s)
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "self"}); err != nil {
			t.Fatal(err)
		}
		s.holder = holder
		if err := term.Release(t.Context(), s); err != nil || s.holder != want {
			t.Errorf("held by %s: then %q, %v", holder, s.holder, err)
		}
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "self"}); err == nil || s.holder != want {
			t.Errorf("held by %s: renewed after the end by %q, %v", holder, s.holder, err)
		}
	}
}

// TestATermHasTheNumberOfItsLease: a process that follows another one in the lead knows whether there was a third between them.
func TestATermHasTheNumberOfItsLease(t *testing.T) {
	term := NewTerm(length)
	numbers := []int{(*Term)(nil).Number(), term.Number()}
	for _, number := range []int{7, 7} {
		if err := term.Lock(&stored{}).Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "self", LeaderTransitions: number}); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, term.Number())
	}
	if want := []int{-1, -1, 7, 7}; !slices.Equal(numbers, want) {
		t.Errorf("the numbers are %v, want %v", numbers, want)
	}
}

// TestTheWallClockCountsToo: the monotonic one stands still while a machine is suspended.
func TestTheWallClockCountsToo(t *testing.T) {
	m := currentMoment()
	suspended := moment{m.at.Round(0).Add(-time.Hour)} // no monotonic reading: as the wall clock says
	if m.add(time.Minute).left() <= 0 || suspended.add(time.Minute).left() > 0 {
		t.Errorf("%s, %s", m.add(time.Minute).left(), suspended.add(time.Minute).left())
	}
}
