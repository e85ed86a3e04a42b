package deliver_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// unread are Providers of which one Secret is read and another one cannot be, until it is repaired.
type unread struct {
	*fixture
	repaired atomic.Bool
}

func (u *unread) Provider(ctx context.Context, key route.Key) (deliver.Loaded, bool, error) {
	p, there, _ := u.fixture.Provider(ctx, key)
	if u.repaired.Load() {
		return p, there, nil
	}
	p.SecretData = map[string][]byte{"token": []byte("CANARYtoken1")}
	return p, true, errors.New("read Secret shop/ca: forbidden for the bearer of CANARYtoken1")
}

// TestAProviderThatCannotBeReadSaysSo: as one that refuses, and without a credential.
func TestAProviderThatCannotBeReadSaysSo(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	f := newFixture(t, here)
	u := &unread{fixture: f}
	f.Providers = u
	f.send("chat", address(s.URL), "x")
	if err := f.result(); err == nil || !strings.Contains(err.Error(), "read Secret shop/ca: forbidden") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("%v", err)
	}
	u.repaired.Store(true)
	if err := f.result(); err != nil {
		t.Errorf("when it can be read: %v", err)
	}
}
