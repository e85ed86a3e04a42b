package deliver_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// BenchmarkEventsToADeadAndALivingEndpoint measures 10,000 events, each for a Provider that hangs and for one that answers: until the living one has the last
// of them (living-ms), in how many requests, and the heap then over that before (heap-MiB). Events come as fast as they can be stored, 100 in a change.
func BenchmarkEventsToADeadAndALivingEndpoint(b *testing.B) {
	const events, each = 10000, 100
	for b.Loop() {
		run := newDeadAndLiving(b)
		before := heap()
		begin := time.Now()
		for from := 0; from < events; from += each {
			run.push(b, from, each)
		}
		stored := time.Since(begin)
		requests := run.await(b)
		b.ReportMetric(float64(time.Since(begin).Milliseconds()), "living-ms")
		b.ReportMetric(float64(stored.Milliseconds()), "stored-ms")
		b.ReportMetric(float64(requests), "requests")
		b.ReportMetric(max(0, heap()-before), "heap-MiB")
		run.end()
	}
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// deadAndLiving are two Providers with a Deliverer.
type deadAndLiving struct {
	*deliver.Deliverer
	keys   []route.Key
	loaded map[route.Key]deliver.Loaded
	taken  chan struct{} // a request of the living one is done
	end    func()
}

func (d *deadAndLiving) Provider(_ context.Context, key route.Key) (deliver.Loaded, bool, error) {
	p, there := d.loaded[key]
	return p, there, nil
}

func (*deadAndLiving) OnDelivery(route.Key, error) {}

func (*deadAndLiving) OnIdle(route.Key) {}

func newDeadAndLiving(b *testing.B) *deadAndLiving {
	b.Helper()
	d := &deadAndLiving{loaded: map[route.Key]deliver.Loaded{}, taken: make(chan struct{}, 20000)}
	gone := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
		case <-r.Context().Done():
		}
	}))
	living := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { d.taken <- struct{}{} }))
	for name, server := range map[string]*httptest.Server{"dead": dead, "living": living} {
		key := route.Key{Namespace: "shop", Name: name}
		d.keys = append(d.keys, key)
		d.loaded[key] = deliver.Loaded{Provider: route.Provider{Key: key, Type: "generic", Address: server.URL, Timeout: 15 * time.Second}}
	}
	store, err := outbox.OpenStore(filepath.Join(b.TempDir(), "x.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	d.Deliverer = &deliver.Deliverer{Store: store, Providers: d, Servers: here, Windows: deliver.DefaultWindows(), Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(b.Context())
	d.Start(ctx)
	d.end = func() {
		cancel()
		close(gone)
		d.Wait()
		dead.Close()
		living.Close()
		_ = store.Close()
	}
	return d
}

// push queues events for both Providers in one change.
func (d *deadAndLiving) push(b *testing.B, from, n int) {
	b.Helper()
	err := d.Store.Update(func(tx *outbox.Tx) error {
		for i := range n {
			m := notify.Message{
				Event: notify.Event{Severity: notify.Error, Reason: "DriftDetected", Text: fmt.Sprintf("event %d of many: .spec.replicas: 3 (Git) vs 5 (live)", from+i)},
				About: object.ID{Kind: "Kustomization", Namespace: "shop", Name: fmt.Sprintf("app-%d", (from+i)%500)}, At: time.Now(),
			}
			for _, key := range d.keys {
				if err := tx.Push(key, route.Note{Message: m}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range d.keys {
		d.Wake(key)
	}
}

// await waits until the living Provider's queue is empty, and returns how many requests it took.
func (d *deadAndLiving) await(b *testing.B) int {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			b.Fatal("the living endpoint did not get all")
		}
		items, _, err := d.Store.Pending(route.Key{Namespace: "shop", Name: "living"})
		if err != nil {
			b.Fatal(err)
		}
		if len(items) == 0 {
			return len(d.taken)
		}
	}
}
