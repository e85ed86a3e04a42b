package source

import (
	"cmp"
	"strings"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// gitHubAPI is where tokens are got where the Secret names no other.
const gitHubAPI = "https://api.github.com"

var (
	numberForm = pattern.OnDemand(`^[0-9]{1,20}$`)
	ownerForm  = pattern.OnDemand(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
)

// ReadApp sets a to what the keys say that Flux documents for the Secret of a GitHub App, and returns what is missing, never what is there.
func (a *Auth) ReadApp(secret map[string][]byte) (lack string) {
	get := func(key string) string { return strings.TrimSpace(string(secret[key])) }
	*a = Auth{
		AppID: get("githubAppID"), AppKey: get("githubAppPrivateKey"),
		AppInstallation: get("githubAppInstallationID"), AppOwner: get("githubAppInstallationOwner"),
		AppURL: cmp.Or(get("githubAppBaseURL"), gitHubAPI), CABundle: string(secret["ca.crt"]), AppCABundle: string(secret["ca.crt"]),
	}
	switch {
	case a.AppID == "":
		lack = "githubAppID is not in it"
	case a.AppInstallation != "" && a.AppOwner != "":
		lack = "githubAppInstallationID and githubAppInstallationOwner are in it, want one of them"
	case a.AppOwner != "" && !ownerForm().MatchString(a.AppOwner):
		lack = "want the name of an organization or user in githubAppInstallationOwner"
	case a.AppOwner == "" && !numberForm().MatchString(a.AppInstallation):
		lack = "want the number of the installation in githubAppInstallationID, or its owner's name in githubAppInstallationOwner"
	case a.AppKey == "":
		lack = "githubAppPrivateKey is not in it"
	case !strings.HasPrefix(a.AppURL, "https://"):
		lack = "want a URL with https:// in githubAppBaseURL"
	}
	return lack
}
