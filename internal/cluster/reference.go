package cluster

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/model/identity"
)

// Reference is what a ConfigMap says of another cluster that takes tokens of this cluster's service accounts.
type Reference struct {
	Address   string   `json:"address"`
	CA        string   `json:"ca"` // PEM; empty for the authorities that the machine trusts
	Audiences []string `json:"audiences"`
	// Account is the name of the service account; empty where the ConfigMap names none.
	Account string `json:"-"`
}

// ParseReference reads the data of a ConfigMap with the keys of Flux's KubeConfigReference.
func ParseReference(data map[string]string) (Reference, error) {
	switch provider := data["provider"]; provider {
	case "generic":
	case "aws", "azure", "gcp":
		return Reference{}, fmt.Errorf("provider %s is refused: it needs the SDK of that cloud; use provider generic, or spec.kubeConfig.secretRef", provider)
	case "":
		return Reference{}, errors.New("key provider is missing: want generic")
	default:
		return Reference{}, fmt.Errorf("key provider: want generic, not %q", provider)
	}
	r := Reference{Address: strings.TrimSpace(data["address"]), CA: data["ca.crt"], Account: data["serviceAccountName"]}
	if r.Address == "" {
		return Reference{}, errors.New("key address is missing: want https://HOST:PORT")
	}
	r.Audiences = strings.FieldsFunc(data["audiences"], func(c rune) bool { return c == '\n' || c == '\r' })
	if len(r.Audiences) == 0 {
		r.Audiences = []string{r.Address}
	}
	if !strings.Contains(r.Address, "://") {
		r.Address = "https://" + r.Address
	}
	if err := serverRefusal("key address", r.Address); err != nil {
		return Reference{}, err
	}
	if r.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(r.CA)) {
		return Reference{}, errors.New("key ca.crt holds no certificate in PEM form")
	}
	if problems := validation.IsDNS1123Subdomain(r.Account); r.Account != "" && len(problems) > 0 {
		return Reference{}, fmt.Errorf("key serviceAccountName: %q is no name of a service account: %s", r.Account, problems[0])
	}
	return r, nil
}

// Kubeconfig returns how the cluster of a reference is connected to as a service account of the cluster of home, which is asked for its tokens; as the
// one of home itself where the account is the zero value.
func (r Reference) Kubeconfig(home *Client, account identity.Account) Kubeconfig {
	text, _ := json.Marshal(struct { // of strings alone: it cannot fail
		Reference
		By identity.Account `json:"by"`
	}{r, account})
	sum := sha256.Sum256(text)
	return Kubeconfig{
		config: &rest.Config{
			Host: r.Address, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(r.CA)},
			Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
		},
		digest: hex.EncodeToString(sum[:]),
		tokens: newAccountTokens(home, account, r.Audiences),
	}
}
