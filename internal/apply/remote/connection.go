package remote

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster"
)

// connection is the key config of a cluster Secret of Argo CD (ClusterConfig in its pkg/apis/application/v1alpha1).
type connection struct {
	Username    string `json:"username"`
	Password    string `json:"password"`
	BearerToken string `json:"bearerToken"`
	TLS         struct {
		Insecure   bool   `json:"insecure"`
		ServerName string `json:"serverName"`
		CertData   []byte `json:"certData"`
		KeyData    []byte `json:"keyData"`
		CAData     []byte `json:"caData"`
	} `json:"tlsClientConfig"`
	AWS                json.RawMessage `json:"awsAuthConfig"`
	Exec               json.RawMessage `json:"execProviderConfig"`
	DisableCompression bool            `json:"disableCompression"`
	ProxyURL           string          `json:"proxyUrl"`
}

// refusal says what of it is not done, by the names of its fields: for a kubeconfig the same is refused by others.
func (c connection) refusal() error {
	const noProgram = "no program is run; use bearerToken or a client certificate"
	var all []error
	for _, field := range []struct {
		name, why string
		given     bool
	}{
		{"tlsClientConfig.insecure", "the server's certificate is verified; use tlsClientConfig.caData", c.TLS.Insecure},
		{"execProviderConfig", noProgram, isGiven(c.Exec)},
		{"awsAuthConfig", noProgram, isGiven(c.AWS)},
		{"proxyUrl", "no proxy of a cluster Secret is used", c.ProxyURL != ""},
	} {
		if field.given {
			all = append(all, fmt.Errorf("%s is refused: %s", field.name, field.why))
		}
	}
	return errors.Join(all...)
}

func isGiven(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }

// parseConnection reads how a cluster is connected to from the keys server and config of a cluster Secret. The error holds nothing of config's values.
func parseConnection(server string, text []byte) (cluster.Kubeconfig, error) {
	var c connection
	if len(text) > 0 && json.Unmarshal(text, &c) != nil { // its error may quote them
		return cluster.Kubeconfig{}, errors.New("key config is not the JSON of a cluster's connection")
	}
	if err := c.refusal(); err != nil {
		return cluster.Kubeconfig{}, err
	}
	const it = "cluster"
	kubeconfig, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": it,
		"contexts": []any{map[string]any{"name": it, "context": map[string]any{"cluster": it, "user": it}}},
		"clusters": []any{map[string]any{"name": it, "cluster": map[string]any{
			"server": server, "tls-server-name": c.TLS.ServerName, "certificate-authority-data": c.TLS.CAData, "disable-compression": c.DisableCompression,
		}}},
		"users": []any{map[string]any{"name": it, "user": map[string]any{
			"client-certificate-data": c.TLS.CertData, "client-key-data": c.TLS.KeyData, "token": c.BearerToken, "username": c.Username, "password": c.Password,
		}}},
	})
	if err != nil {
		return cluster.Kubeconfig{}, fmt.Errorf("make a kubeconfig: %w", err)
	}
	return cluster.ParseKubeconfig(kubeconfig)
}
