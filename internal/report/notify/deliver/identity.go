package deliver

import (
	"context"
	"errors"
	"strings"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
)

// withIdentity sets the token of a target at a cloud: of the key of a service account that the Secret holds, or of the Provider's identity.
func (d *Deliverer) withIdentity(ctx context.Context, p Loaded, t *payload.Target) error {
	if t.Type != "googlepubsub" && (t.Type != "azureeventhub" || t.Token != "" || strings.Contains(t.Address, "SharedAccessKey=")) {
		return nil
	}
	byKey := t.Type == "googlepubsub" && t.Token != ""
	switch proxy, err := proxyOf(p); {
	case d.Clouds == nil:
		return errors.New("this process has no identity at a cloud")
	case err != nil:
		return err
	case !byKey && p.Account == "" && (proxy != "" || len(p.CertificateData) > 0):
		return errors.New("certificates and a proxy are not for the identity of the controller, whose token another server could get: set spec.serviceAccountName, or a token in the Secret")
	}
	var err error
	id := provider.Identity{Cloud: provider.GCP, Namespace: p.Key.Namespace, Account: p.Account}
	switch {
	case t.Type == "azureeventhub":
		id.Cloud = provider.Azure
		t.Token, err = d.Clouds.EventHubsToken(ctx, id)
	case byKey:
		t.Token, err = d.Clouds.GoogleKeyToken(ctx, t.Token)
	default:
		t.Token, err = d.Clouds.GoogleToken(ctx, id)
	}
	return err
}
