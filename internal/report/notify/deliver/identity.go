package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
)

// needsIdentity reports whether a target has no credentials but those of an identity at a cloud.
func needsIdentity(t payload.Target) bool {
	switch t.Type {
	case "googlepubsub", "azuredevops":
		return t.Token == ""
	case "azureeventhub":
		return t.Token == "" && !strings.Contains(t.Address, "SharedAccessKey=")
	}
	return false
}

// withIdentity sets the token of a target at a cloud: of the key of a service account that the Secret holds, or of the Provider's identity.
func (d *Deliverer) withIdentity(ctx context.Context, p Loaded, t *payload.Target) error {
	byKey := t.Type == "googlepubsub" && t.Token != ""
	if !byKey && !needsIdentity(*t) {
		return nil
	}
	id := d.Clouds.WithAccount(provider.Identity{Cloud: provider.Azure, Namespace: p.Key.Namespace, Account: p.Account})
	switch proxy, err := proxyOf(p); {
	case d.Clouds == nil:
		return errors.New("this process has no identity at a cloud")
	case err != nil:
		return err
	case !byKey && id.IsOwn() && (proxy != "" || len(p.CertificateData) > 0):
		return errors.New("certificates and a proxy are not for the identity of the controller, whose token another server could get: set spec.serviceAccountName, or a token in the Secret")
	}
	var err error
	t.IsBearer = true
	if byKey {
		t.Token, err = d.Clouds.GoogleKeyToken(ctx, t.Token)
		return err
	}
	switch t.Type {
	case "googlepubsub":
		id.Cloud = provider.GCP
		t.Token, err = d.Clouds.GoogleToken(ctx, id)
	case "azureeventhub":
		t.Token, err = d.Clouds.EventHubsToken(ctx, id)
	default:
		got, failed := d.Clouds.Git(ctx, id, t.Address)
		t.Token, err = got.Token, failed
	}
	if err != nil && id.IsOwn() {
		return fmt.Errorf("it has no token from a Secret: %w", err)
	}
	return err
}
