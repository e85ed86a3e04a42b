package stories

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// way leads the API server to the witness, until it is blocked: then it takes connections in, and nothing gets through.
type way struct {
	gate  sync.RWMutex
	to    string
	at    net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func newWay(t *testing.T) *way {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0") // where the witness will listen
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &way{to: free.Addr().String(), at: at}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	go x.lead()
	t.Cleanup(x.end)
	return x
}

func (x *way) keep(c net.Conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conns = append(x.conns, c)
}

func (x *way) end() {
	_ = x.at.Close() // ends lead
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		_ = c.Close() // ends what is copied
	}
}

func (x *way) lead() {
	for {
		from, err := x.at.Accept()
		if err != nil {
			return
		}
		x.keep(from)
		to, err := net.Dial("tcp", x.to)
		if err != nil {
			_ = from.Close() // as if no server listened
			continue
		}
		x.keep(to)
		go x.pass(from, to)
		go x.pass(to, from)
	}
}

// pass copies while the gate is open.
func (x *way) pass(from, to net.Conn) {
	_, _ = io.Copy(throttled{to, &x.gate}, from) // it ends with either of the two
	_, _ = from.Close(), to.Close()
}

type throttled struct {
	io.Writer
	gate *sync.RWMutex
}

func (g throttled) Write(p []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Writer.Write(p)
}

// TestAWitnessThatCannotBeReachedIsAskedNoMore: while the way to it hangs each write waits for a second, so truce, which sends a probe
// that way, removes its webhook configuration, and restores it after a pause.
func TestAWitnessThatCannotBeReachedIsAskedNoMore(t *testing.T) {
	w := offWorld(t, threeReplicas)
	x := newWay(t)
	w.run(compose.RunOptions{Settings: controller.Settings{Process: policy.Policy{Mode: policy.Observe}, Witness: attribution.Place{Listen: x.to, URL: "https://" + x.at.Addr().String()}}})
	w.Apply(t, strings.ReplaceAll(threeReplicas[strings.Index(threeReplicas, "apiVersion"):], "NAMESPACE", w.ns))
	w.app("web", "./", defaultSpec)
	w.until("the kind to be in use", func() bool {
		return w.configuration() != nil && strings.Contains(asJSON(t, w.configuration().Object), "deployments/scale")
	})
	w.seen()

	x.gate.Lock()
	begin := time.Now()
	slow := w.scaleWrites(1)
	w.until("the configuration to go", func() bool { return w.configuration() == nil })
	gone := time.Since(begin)
	var quick took
	w.until("writes to wait no more", func() bool {
		quick = w.scaleWrites(20)
		return quick.p50 < time.Second
	})
	t.Logf("one write while it hangs %s, withdrawn after %s, writes after that, p50 and worst: %s", slow.worst, gone.Round(10*time.Millisecond), quick)
	x.gate.Unlock()
	w.until("the configuration to come again", func() bool { return w.configuration() != nil })
	w.seen()
}
