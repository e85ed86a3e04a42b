package cluster

import (
	"context"
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
	"github.com/truce-gitops/truce/internal/model/provider"
)

// Reference is what a ConfigMap says of another cluster that takes tokens of this cluster's service accounts, or of a cloud.
type Reference struct {
	Address   string   `json:"address"`
	CA        string   `json:"ca"` // PEM; empty for the authorities that the machine trusts
	Audiences []string `json:"audiences"`
	// Cloud is one whose identities the cluster knows, and Name the cluster there; the zero value is a cluster that takes tokens of this one. Address and CA may
	// be left to the cloud.
	Cloud provider.Cloud `json:"cloud"`
	Name  string         `json:"name"`
	// Account is the name of the service account; empty where the ConfigMap names none.
	Account string `json:"-"`
}

// ParseReference reads the data of a ConfigMap with the keys of Flux's KubeConfigReference.
func ParseReference(data map[string]string) (Reference, error) {
	r := Reference{Address: strings.TrimSpace(data["address"]), CA: data["ca.crt"], Account: data["serviceAccountName"]}
	switch word := data["provider"]; word {
	case "generic":
		if r.Address == "" {
			return Reference{}, errors.New("key address is missing: want https://HOST:PORT")
		}
		r.Audiences = strings.FieldsFunc(data["audiences"], func(c rune) bool { return c == '\n' || c == '\r' })
		if len(r.Audiences) == 0 {
			r.Audiences = []string{r.Address}
		}
	case "aws", "azure", "gcp":
		if r.Cloud, r.Name = provider.Cloud(word), strings.TrimSpace(data["cluster"]); r.Name == "" {
			return Reference{}, errors.New("key cluster is missing: want the name of the cluster at the cloud")
		}
	case "":
		return Reference{}, errors.New("key provider is missing: want generic, aws, azure or gcp")
	default:
		return Reference{}, fmt.Errorf("key provider: want generic, aws, azure or gcp, not %q", word)
	}
	return r.checked()
}

// checked completes the address, and returns an error for what cannot be used.
func (r Reference) checked() (Reference, error) {
	if r.Address != "" {
		if !strings.Contains(r.Address, "://") {
			r.Address = "https://" + r.Address
		}
		if err := serverRefusal("key address", r.Address); err != nil {
			return Reference{}, err
		}
	}
	if r.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(r.CA)) {
		return Reference{}, errors.New("key ca.crt holds no certificate in PEM form")
	}
	if problems := validation.IsDNS1123Subdomain(r.Account); r.Account != "" && len(problems) > 0 {
		return Reference{}, fmt.Errorf("key serviceAccountName: %q is no name of a service account: %s", r.Account, problems[0])
	}
	return r, nil
}

// tokenSource has what another cluster takes as a token. It may be used concurrently.
type tokenSource interface {
	// Token returns one that has not expired.
	Token(ctx context.Context) (string, error)
	// Reject has another one asked for, in place of one that the cluster has rejected. It does not block.
	Reject(token string)
}

// CloudKubeconfig returns how the cluster of a cloud, whose address is known, is connected to with tokens of an account.
func (r Reference) CloudKubeconfig(account identity.Account, tokens tokenSource) Kubeconfig {
	out := r.kubeconfig(account)
	out.tokens = tokens
	return out
}

// Kubeconfig returns how the cluster of a reference is connected to as a service account of the cluster of home, which is asked for its tokens; as the
// one of home itself where the account is the zero value.
func (r Reference) Kubeconfig(home *Client, account identity.Account) Kubeconfig {
	out := r.kubeconfig(account)
	out.tokens = newAccountTokens(home, account, r.Audiences)
	return out
}

func (r Reference) kubeconfig(account identity.Account) Kubeconfig {
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
	}
}
