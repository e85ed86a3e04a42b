package deliver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/source/cloud"
)

// TestTheControllersIdentityGoesNoOtherWay: the author of a Provider, who chooses its proxy and its authority, does not get the token. Each has a fixture of its
// own: what fails is tried again, and would be taken for the answer to the next.
func TestTheControllersIdentityGoesNoOtherWay(t *testing.T) {
	failed := notify.Message{Event: notify.Event{Severity: notify.Error, Reason: "BuildFailed", Revision: "main@sha1:" + strings.Repeat("a", 40)}, Matter: notify.Matter{Kind: matter.Failure, Phase: notify.Opens}}
	answer := func(p deliver.Loaded) error {
		f := newFixture(t, here)
		f.Clouds = &cloud.Exchange{Servers: here}
		p.Key, p.Channel, p.Timeout = route.Key{Namespace: "shop", Name: "provider"}, "gitops", 30*time.Second
		f.queue(p, failed)
		return f.result()
	}
	for kind, at := range map[string]string{"googlepubsub": "acme-prod", "azureeventhub": "events", "azuredevops": "https://dev.azure.com/acme/shop/_git/fleet"} {
		for name, change := range map[string]func(*deliver.Loaded){
			"a proxy":      func(p *deliver.Loaded) { p.Proxy = "http://127.0.0.1:1" },
			"its Secret":   func(p *deliver.Loaded) { p.ProxyData = map[string][]byte{"address": []byte("http://127.0.0.1:1")} },
			"an authority": func(p *deliver.Loaded) { p.CertificateData = map[string][]byte{"ca.crt": []byte("x")} },
		} {
			p := deliver.Loaded{Provider: route.Provider{Type: kind, Address: at}}
			change(&p)
			if err := answer(p); err == nil || !strings.Contains(err.Error(), "not for the identity of the controller") {
				t.Errorf("%s with %s: %v", kind, name, err)
			}
		}
	}
	err := answer(deliver.Loaded{Provider: route.Provider{Type: "googlepubsub", Address: "acme-prod"}, SecretData: map[string][]byte{"token": []byte("CANARY-no-key")}})
	if err == nil || !strings.Contains(err.Error(), "no key of a service account") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("with what is no key: %v", err)
	}
}
