package controller

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// handed is a watcher whose list is what the test hands to its handler.
type handed struct {
	synced chan struct{}
	handle chan func(live.Event)
}

func (h handed) Watch(_ context.Context, _ live.Interest, handle func(live.Event)) live.Watch {
	h.handle <- handle
	return h
}

func (h handed) Synced() <-chan struct{} { return h.synced }
func (handed) Err() error                { return nil }
func (handed) Failed() <-chan struct{}   { return nil }

// userClaims is an event of the ConfigMap with the files of claims.
func userClaims(namespace, text string) live.Event {
	o := object.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": claimsConfig, "namespace": namespace, "uid": "1"},
		"data": map[string]any{"mine.yaml": text},
	}
	return live.Event{GVK: o.GVK(), ID: o.ID(), Object: o}
}

// TestMalformedClaimsAreNotTakenForNone: what the ConfigMap ceded before a restart would be corrected.
func TestMalformedClaimsAreNotTakenForNone(t *testing.T) {
	malformed := strings.Replace(matchmakers, "who:", "whom:", 1)
	for name, s := range map[string]struct {
		listed, then string // the file; empty for no ConfigMap
		waits        bool
		says         string // the Events about it
	}{
		"none":                            {},
		"good ones":                       {listed: matchmakers},
		"good ones, then malformed":       {listed: matchmakers, then: malformed, says: "mine.yaml:4: unknown key whom; the last good claims hold"},
		"malformed, then good ones":       {listed: malformed, then: matchmakers, waits: true, says: "mine.yaml:4: unknown key whom; nothing is reconciled until it is corrected or deleted"},
		"malformed, then deleted":         {listed: malformed, waits: true, says: "mine.yaml:4: unknown key whom; nothing is reconciled until it is corrected or deleted"},
		"malformed, then still malformed": {listed: malformed, then: malformed + " ", waits: true, says: "nothing is reconciled until it is corrected or deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := speaking(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				w := handed{make(chan struct{}), make(chan func(live.Event), 1)}
				c.Watcher = w
				known := make(chan struct{})
				go func() { c.watchCatalogue(ctx); close(known) }()
				handle, at := <-w.handle, c.Home(c.Cluster.Namespace())
				if s.listed != "" {
					handle(userClaims(at, s.listed))
				}
				close(w.synced)
				synctest.Wait()
				if waits := !isClosed(known); waits != s.waits {
					t.Errorf("before all claims are known it waits: %t", waits)
				}
				ev := userClaims(at, s.then)
				ev.Gone = s.then == ""
				handle(ev)
				synctest.Wait()
				if still := s.waits && strings.HasPrefix(s.then, malformed); isClosed(known) == still {
					t.Errorf("it still waits: %t", still)
				}
				end()
				<-known
				said := ""
				for len(c.events) > 0 {
					said += (<-c.events).Object["note"].(string) + "\n"
				}
				if s.says == "" && said != "" || !strings.Contains(said, s.says) {
					t.Errorf("said %q, want %q", said, s.says)
				}
			})
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
