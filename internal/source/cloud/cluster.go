package cloud

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/sigv4"
)

// Cluster is one of EKS, AKS or GKE: its name at the cloud, and where it is, as far as that is known.
type Cluster struct {
	Name    string // an ARN, a resource ID, or projects/…/locations/…/clusters/…
	Address string // https://HOST:PORT
	CA      string // PEM
}

var (
	eksForm = pattern.OnDemand(`^arn:aws[a-z-]{0,20}:eks:([a-z0-9-]{1,100}):[0-9]{1,30}:cluster/([A-Za-z0-9][A-Za-z0-9_-]{0,99})$`)
	aksForm = pattern.OnDemand(`(?i)^/subscriptions/[0-9a-f-]{36}/resourceGroups/[\w.()-]{1,90}/providers/Microsoft\.ContainerService/managedClusters/[\w-]{1,63}$`)
	gkeForm = pattern.OnDemand(`^projects/[A-Za-z0-9:._-]{1,200}/locations/[a-z0-9-]{1,100}/clusters/[a-z0-9-]{1,100}$`)
)

const (
	placeLife        = 15 * time.Minute // of what is known of a cluster, and of a token of EKS
	publicManagement = "https://management.azure.com"
	armAPI           = "?api-version=2024-05-01"
	aksScope         = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"
	gkeURL           = "https://container.googleapis.com/v1/"
)

// managements are the resource managers of Azure's clouds, by the hosts of their Entra ID. The public one is for all others.
var managements = map[string]string{
	"login.chinacloudapi.cn": "https://management.chinacloudapi.cn", "login.partner.microsoftonline.cn": "https://management.chinacloudapi.cn",
	"login.microsoftonline.us": "https://management.usgovcloudapi.net",
}

// management is the resource manager of the cloud that truce runs in, by AZURE_AUTHORITY_HOST, as the webhook of Azure's workload identity sets it.
func (e *Exchange) management() string {
	u, err := url.Parse(e.authority())
	if err != nil {
		return publicManagement
	}
	return cmp.Or(managements[u.Host], publicManagement)
}

// Locate completes what is known of a cluster. With the controller's own identity the address must be one that the cloud names: its tokens go there.
func (e *Exchange) Locate(ctx context.Context, id identity, c Cluster) (Cluster, error) {
	return askAsIdentity(ctx, e, id, func(s subject) (Cluster, error) { return e.locate(ctx, s, c) })
}

func (e *Exchange) locate(ctx context.Context, s subject, c Cluster) (Cluster, error) {
	if s.Account != "" && c.Address != "" && c.CA != "" {
		return c, nil
	}
	found, err := e.kept(ctx, append(s.key(roleAnnotation, clientAnnotation, tenantAnnotation, googleAnnotation, providerAnnotation), "place", c.Name), place{s, c.Name})
	switch {
	case err != nil:
		return c, err
	case c.Address != "" && s.Account == "" && canonicalAddress(c.Address) != canonicalAddress(found.User):
		return c, errors.New("the address is not the one that the cloud names, and the identity is that of the controller; leave the address out, or name a serviceAccountName")
	case c.Address == "":
		c.Address = found.User
	}
	if c.CA == "" || s.Account == "" {
		c.CA = found.Password
	}
	return c, nil
}

func canonicalAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// place is the question where a cluster is: User of the answer is its address, and Password the certificate of its authority.
type place struct {
	subject
	name string
}

func (r place) ask(ctx context.Context, e *Exchange) (Credential, error) {
	switch r.Cloud {
	case provider.AWS:
		return r.eks(ctx, e)
	case provider.Azure:
		return r.aks(ctx, e)
	case provider.GCP:
		return r.gke(ctx, e)
	case provider.NoCloud:
	}
	return Credential{}, fmt.Errorf("%q is no cloud", r.Cloud)
}

func placeOf(address, ca string) (Credential, error) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	text, err := base64.StdEncoding.DecodeString(ca)
	if u, bad := url.Parse(address); err != nil || bad != nil || u.Scheme != "https" || u.Host == "" || len(text) == 0 {
		return Credential{}, errors.New("the cloud names no address or certificate of the cluster")
	}
	return Credential{User: address, Password: string(text), Until: time.Now().Add(placeLife)}, nil
}

func (r place) eks(ctx context.Context, e *Exchange) (Credential, error) {
	match := eksForm().FindStringSubmatch(r.name)
	if match == nil {
		return Credential{}, errors.New("key cluster: want arn:aws:eks:REGION:ACCOUNT:cluster/NAME")
	}
	keys, err := e.awsKeys(ctx, r.subject, match[1])
	if err != nil {
		return Credential{}, err
	}
	data, err := e.sendSigned(ctx, call{service: "EKS", method: http.MethodGet, url: e.endpoint("EKS", "eks", match[1]) + "/clusters/" + match[2]}, keys, sigv4.Scope{Service: "eks", Region: match[1]})
	if err != nil {
		return Credential{}, err
	}
	var answer struct {
		Cluster struct {
			Endpoint             string
			CertificateAuthority struct{ Data string }
		}
	}
	if err := decodeAnswer(data, "EKS", &answer); err != nil {
		return Credential{}, err
	}
	return placeOf(answer.Cluster.Endpoint, answer.Cluster.CertificateAuthority.Data)
}

func (r place) gke(ctx context.Context, e *Exchange) (Credential, error) {
	if !gkeForm().MatchString(r.name) {
		return Credential{}, errors.New("key cluster: want projects/PROJECT/locations/LOCATION/clusters/NAME")
	}
	token, err := e.googleToken(ctx, r.subject)
	if err != nil {
		return Credential{}, err
	}
	const service = "the API of GKE"
	data, err := e.send(ctx, call{
		service: service, method: http.MethodGet, url: gkeURL + r.name, header: map[string]string{"Authorization": "Bearer " + token.Token}, secrets: []string{token.Token},
	})
	if err != nil {
		return Credential{}, err
	}
	var answer struct {
		Endpoint   string
		MasterAuth struct{ ClusterCaCertificate string }
	}
	if err := decodeAnswer(data, service, &answer); err != nil {
		return Credential{}, err
	}
	return placeOf(answer.Endpoint, answer.MasterAuth.ClusterCaCertificate)
}

func (r place) aks(ctx context.Context, e *Exchange) (Credential, error) {
	if !aksForm().MatchString(r.name) {
		return Credential{}, errors.New("key cluster: want /subscriptions/ID/resourceGroups/NAME/providers/Microsoft.ContainerService/managedClusters/NAME")
	}
	manager := e.management()
	token, err := e.azureToken(ctx, r.subject, manager+"/.default")
	if err != nil {
		return Credential{}, err
	}
	const service = "the resource manager of Azure"
	c := call{
		service: service, method: http.MethodGet, url: manager + r.name + armAPI, header: map[string]string{"Authorization": "Bearer " + token.Token}, secrets: []string{token.Token},
	}
	data, err := e.send(ctx, c)
	if err != nil {
		return Credential{}, err
	}
	var cluster struct {
		Properties struct{ AADProfile map[string]any }
	}
	if err := decodeAnswer(data, service, &cluster); err != nil {
		return Credential{}, err
	}
	if cluster.Properties.AADProfile == nil {
		return Credential{}, errors.New("the cluster of AKS takes no tokens of Microsoft Entra ID: enable that integration")
	}
	c.method, c.url = http.MethodPost, manager+r.name+"/listClusterUserCredential"+armAPI
	if data, err = e.send(ctx, c); err != nil {
		return Credential{}, err
	}
	return parseUserCredential(data)
}

// parseUserCredential reads the address and the authority in the first kubeconfig of AKS.
func parseUserCredential(data []byte) (Credential, error) {
	const service = "the resource manager of Azure"
	var answer struct{ Kubeconfigs []struct{ Value []byte } }
	if err := decodeAnswer(data, service, &answer); err != nil {
		return Credential{}, err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if len(answer.Kubeconfigs) == 0 || yaml.Unmarshal(answer.Kubeconfigs[0].Value, &config) != nil || len(config.Clusters) == 0 {
		return Credential{}, fmt.Errorf("the answer of %s holds no kubeconfig", service)
	}
	return placeOf(config.Clusters[0].Cluster.Server, config.Clusters[0].Cluster.CA)
}

// ClusterToken returns the token by which an identity is known to a cluster.
func (e *Exchange) ClusterToken(ctx context.Context, id identity, name string) (string, error) {
	got, err := askAsIdentity(ctx, e, id, func(s subject) (Credential, error) {
		switch id.Cloud {
		case provider.AWS:
			return e.kept(ctx, append(s.key(roleAnnotation), "eks", name), eksToken{s, name})
		case provider.Azure:
			return e.azureToken(ctx, s, aksScope)
		case provider.GCP, provider.NoCloud:
		}
		return e.googleToken(ctx, s)
	})
	return got.Token, err
}

// eksToken is the request for a token of EKS: the URL of a request to STS that is signed for the cluster, and that the cluster sends.
type eksToken struct {
	subject
	name string
}

func (r eksToken) ask(ctx context.Context, e *Exchange) (Credential, error) {
	match := eksForm().FindStringSubmatch(r.name)
	if match == nil {
		return Credential{}, errors.New("key cluster: want arn:aws:eks:REGION:ACCOUNT:cluster/NAME")
	}
	keys, err := e.awsKeys(ctx, r.subject, match[1])
	if err != nil {
		return Credential{}, err
	}
	to, err := url.Parse((&Exchange{}).endpoint("STS", "sts", match[1]) + "/") // whatever the environment says: the cluster asks it
	if err != nil {
		return Credential{}, err
	}
	now := time.Now()
	text := keys.signingKeys().Presign(sigv4.Link{
		To: *to, Parameters: map[string]string{"Action": "GetCallerIdentity", "Version": "2011-06-15"}, Header: http.Header{"X-K8s-Aws-Id": {match[2]}}, Life: placeLife,
	}, sigv4.Scope{Service: "sts", Region: match[1]}, now)
	return Credential{Token: "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(text)), Until: earlier(now.Add(placeLife), keys.Until)}, nil
}

// earlier is the first of two ends, of which the second one may be none.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
