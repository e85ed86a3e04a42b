package configmap_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// road loses the answer of the next write, or the write itself.
type road struct {
	http.RoundTripper
	loses atomic.Pointer[string] // nil for nothing
}

const (
	theAnswer = "the answer"
	theWrite  = "the write"
)

var errLost = errors.New("connection reset by peer")

func (r *road) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method == http.MethodGet {
		return r.RoundTripper.RoundTrip(q)
	}
	what := r.loses.Swap(nil)
	if what != nil && *what == theWrite {
		return nil, errLost
	}
	res, err := r.RoundTripper.RoundTrip(q)
	if what != nil && err == nil {
		err = errors.Join(errLost, res.Body.Close())
	}
	return res, err
}

// lossy is a store, and what makes it lose something of its next write.
func lossy(t *testing.T, k *kubetest.Cluster) (*configmap.Store, func(string)) {
	t.Helper()
	config, r := k.Config(), &road{}
	config.Wrap(func(to http.RoundTripper) http.RoundTripper {
		r.RoundTripper = to
		return r
	})
	c, err := cluster.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return &configmap.Store{Cluster: c}, func(what string) { r.loses.Store(&what) }
}

// unsaved saves what cannot be answered.
func unsaved(t *testing.T, s *configmap.Store, r inventory.Record) {
	t.Helper()
	if err := s.Save(t.Context(), r); !errors.Is(err, errLost) || errors.Is(err, inventory.ErrChanged) {
		t.Fatalf("a save without an answer: %v", err)
	}
}

func TestAWriteWhoseAnswerWasLostIsNobodyElses(t *testing.T) {
	k := kubetest.Start(t)
	for name, story := range map[string]func(t *testing.T, s *configmap.Store, lose func(string), ns string) inventory.Record{
		"the first one": func(t *testing.T, s *configmap.Store, lose func(string), ns string) inventory.Record {
			loaded(t, s, record(ns, 1).App)
			lose(theAnswer)
			unsaved(t, s, record(ns, 1))
			return record(ns, 2)
		},
		"a later one": func(t *testing.T, s *configmap.Store, lose func(string), ns string) inventory.Record {
			saved(t, s, record(ns, 1))
			lose(theAnswer)
			unsaved(t, s, record(ns, 2))
			return record(ns, 3)
		},
		"one that never arrived, and one that did": func(t *testing.T, s *configmap.Store, lose func(string), ns string) inventory.Record {
			saved(t, s, record(ns, 1))
			lose(theWrite)
			unsaved(t, s, record(ns, 2))
			lose(theAnswer)
			unsaved(t, s, record(ns, 3))
			return record(ns, 4)
		},
		"one that is taken back": func(t *testing.T, s *configmap.Store, lose func(string), ns string) inventory.Record {
			r := record(ns, 1)
			saved(t, s, r)
			lose(theAnswer)
			unsaved(t, s, record(ns, 2))
			return r
		},
		"one that is sent again": func(t *testing.T, s *configmap.Store, lose func(string), ns string) inventory.Record {
			saved(t, s, record(ns, 1))
			r := record(ns, 2)
			lose(theAnswer)
			unsaved(t, s, r)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, lose := lossy(t, k)
			want := story(t, s, lose, k.Namespace(t))
			saved(t, s, want)
			if diff := cmp.Diff(want, loaded(t, store(t, k), want.App)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAnotherWroteAfterALostAnswerIsNotWrittenOver(t *testing.T) {
	k := kubetest.Start(t)
	s, lose := lossy(t, k)
	ns := k.Namespace(t)
	saved(t, s, record(ns, 1))
	lose(theAnswer)
	unsaved(t, s, record(ns, 2))
	other := store(t, k)
	theirs := inventory.MergeEntries(loaded(t, other, record(ns, 1).App), record(ns, 5).Entries)
	saved(t, other, theirs)
	if err := s.Save(t.Context(), record(ns, 3)); !errors.Is(err, inventory.ErrChanged) {
		t.Errorf("a save over another one: %v", err)
	}
	if diff := cmp.Diff(theirs, loaded(t, store(t, k), theirs.App)); diff != "" {
		t.Error(diff)
	}
}

func TestALabelOnARecordStopsNobody(t *testing.T) {
	k := kubetest.Start(t)
	s, ns := store(t, k), k.Namespace(t)
	saved(t, s, record(ns, 1))
	k.Kubectl(t, "-n", ns, "label", "configmap", cm, "team=shop")
	want := record(ns, 2)
	saved(t, s, want)
	if diff := cmp.Diff(want, loaded(t, store(t, k), want.App)); diff != "" {
		t.Error(diff)
	}
	if got := k.Kubectl(t, "-n", ns, "get", "configmap", cm, "-o", "jsonpath={.metadata.labels.team}"); strings.TrimSpace(got) != "shop" {
		t.Errorf("somebody's label is %q", got)
	}
}
