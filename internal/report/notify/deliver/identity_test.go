package deliver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/source/cloud"
)

// TestTheControllersIdentityGoesNoOtherWay: the author of a Provider, who chooses its proxy and its authority, does not get the token.
func TestTheControllersIdentityGoesNoOtherWay(t *testing.T) {
	f := newFixture(t, here)
	f.Clouds = &cloud.Exchange{Servers: here}
	for kind, at := range map[string]string{"googlepubsub": "acme-prod", "azureeventhub": "acme-events", "azuredevops": "https://dev.azure.com/acme/shop/_git/fleet"} {
		for name, change := range map[string]func(*deliver.Loaded){
			"a proxy":      func(p *deliver.Loaded) { p.Proxy = "http://127.0.0.1:1" },
			"its Secret":   func(p *deliver.Loaded) { p.ProxyData = map[string][]byte{"address": []byte("http://127.0.0.1:1")} },
			"an authority": func(p *deliver.Loaded) { p.CertificateData = map[string][]byte{"ca.crt": []byte("x")} },
		} {
			p := deliver.Loaded{Provider: route.Provider{Type: kind, Address: at, Channel: "gitops", Timeout: 30 * time.Second}}
			change(&p)
			f.send(kind+name, p, "x")
			if err := f.result(); err == nil || !strings.Contains(err.Error(), "not for the identity of the controller") {
				t.Errorf("%s with %s: %v", kind, name, err)
			}
		}
	}
	f = newFixture(t, here) // the others are tried again meanwhile
	f.Clouds = &cloud.Exchange{Servers: here}
	f.send("key", deliver.Loaded{Provider: route.Provider{Type: "googlepubsub", Address: "acme-prod", Channel: "gitops"}, SecretData: map[string][]byte{"token": []byte("CANARY-no-key")}}, "x")
	if err := f.result(); err == nil || !strings.Contains(err.Error(), "no key of a service account") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("with what is no key: %v", err)
	}
}
