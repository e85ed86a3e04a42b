package impersonate

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/model/identity"
)

// TestAnAccountWithoutANameIsNotTruceItself: an account that cannot be impersonated is an error, and never truce's own identity.
func TestAnAccountWithoutANameIsNotTruceItself(t *testing.T) {
	c, err := cluster.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	all := NewAccess(c, tenancy.Access{Live: list.Reader{Cluster: c}})
	for _, bad := range []identity.Account{{Namespace: "a"}, {Name: "default"}} {
		if got, err := all.As(bad); err == nil || got.Live != nil {
			t.Errorf("%+v: %v, %v", bad, got, err)
		}
	}
	got, err := all.As(identity.Account{Namespace: "a", Name: "default"})
	if err != nil {
		t.Fatal(err)
	}
	as := got.Live.(list.Reader).Cluster.Config().Impersonate
	if as.UserName != "system:serviceaccount:a:default" || len(as.Groups) > 0 {
		t.Errorf("impersonated as %+v", as)
	}
	if own, err := all.As(identity.Account{}); err != nil || own.Live.(list.Reader).Cluster != c {
		t.Errorf("truce itself: %+v, %v", own, err)
	}
	for range 2 * mostAccounts {
		if _, err := all.As(identity.Account{Namespace: "a", Name: "default"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(all.known) != 1 {
		t.Errorf("%d clients for one account", len(all.known))
	}
}
