// Package instance answers: which instances of truce are in a cluster, how does each run, and how is it reached?
//
// In: a connection; for Publish, the flags that an instance runs with.
// Out: a ConfigMap and a Secret in the namespace of the instance; for commands, the instances that have written them.
// Promise: what an instance publishes is read in the same form by every later version; an instance that is gone is never taken for a running one:
// it holds no Lease and its page does not answer.
// Not here: the election of a leader (controller/leader), the status page itself (web).
package instance

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// The flags of a controller decide what it does, and commands that show what it would do must know them. So the leader writes them into a
// ConfigMap of its namespace: the policies that hold where a custom resource sets none, and the claims of files.
const (
	// ConfigMap is the name of the ConfigMap that an instance publishes.
	ConfigMap = "truce-controller"
	// Label is "true" on each object that an instance publishes, so that it is found without its namespace.
	Label = "truce.dev/controller"
	// LeaseName is the Lease by which one of several controllers leads, where no flag names another.
	LeaseName = "truce-controller"
	// Secret is the name of the Secret with the token of the status page.
	Secret = "truce-page"
	// Manager is the field manager of all that a controller writes for itself.
	Manager = "truce-controller"
)

// The keys of the ConfigMap and of the Secret.
const (
	keyClaims     = "claims"
	keyMode       = "mode"
	keyPause      = "pause"
	keyAdditions  = "additions"
	keyVersion    = "version"
	keyCatalogue  = "claims.yaml"
	keyNamespaces = "namespaces"         // those that it works for, with commas between; empty for all
	keyHome       = "runtime-namespace"  // that of the ConfigMap, where the flag of that name is set
	keyRemotes    = "remote-hosts"       // with commas between; empty for all that are public
	keyReach      = "source-addresses"   // the kind of addresses that sources may have (sourceReaches)
	keyAllowed    = "allow-source-hosts" // with commas between
	keyShared     = "multi-tenant"       // what the flag of that name sets is in the next four
	keySameOnly   = "no-cross-namespace-refs"
	keyAccount    = "default-service-account"
	keyTokens     = "default-kubeconfig-service-account"
	keyAdmins     = "admin-namespaces" // with commas between, without the controller's own
	keyOwn        = "own-namespace"
	keyUser       = "user" // whose rights it has, where that is a service account's
	keyPage       = "page" // address of its status page, for commands on the same machine
	keyPod        = "pod"  // namespace/name:port of its status page, for commands that come through the API server
	keyToken      = "token"
)

// noRemotes is the value of keyRemotes for an instance that fetches no remote bases.
const noRemotes = "none"

// SecretResource is the resource of Secrets; every server has them.
var SecretResource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

var configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Settings are what an instance publishes.
type Settings struct {
	Version          string
	Namespaces       cluster.Namespaces
	RuntimeNamespace string // as its flag sets it
	Process          policy.Policy
	Catalogue        *claim.Catalogue // nil for the built-in one
	Remotes          upstream.Hosts
	Sources          egress.Policy // the servers that sources may be at
	Tenancy          tenancy.Rules // as the flags set them
	// Page is the address of the status page, for commands on the same machine; Pod is namespace/name:port, for a page within a pod.
	Page, Pod string
}

// Publish writes the settings of an instance into its ConfigMap.
func Publish(ctx context.Context, c *cluster.Client, s Settings) error {
	catalogue, err := beyondBuiltin(s.Catalogue)
	if err != nil {
		return err
	}
	home := s.Namespaces.Home(s.RuntimeNamespace, c.Namespace())
	data := map[string]any{
		keyNamespaces: strings.Join(s.Namespaces, ","), keyHome: s.RuntimeNamespace, keyVersion: s.Version,
		keyCatalogue: catalogue, keyRemotes: remotesText(s.Remotes),
		keyClaims: string(s.Process.Claims), keyMode: string(s.Process.Mode), keyPause: string(s.Process.Pause), keyAdditions: string(s.Process.Additions),
	}
	maps.Copy(data, sourcesData(s.Sources))
	maps.Copy(data, tenancyData(s.Tenancy, c.Namespace()))
	if who, err := c.User(ctx); err == nil { // a server that does not say it leaves the key out
		data[keyUser] = who
	}
	if s.Page != "" {
		data[keyPage] = s.Page
	}
	if s.Pod != "" {
		data[keyPod] = s.Pod
	}
	_, err = ConfigMaps(c, home).Apply(ctx, ConfigMap, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": ConfigMap, "namespace": home, "labels": map[string]any{Label: "true"}},
	}}, metav1.ApplyOptions{FieldManager: Manager, Force: true})
	if err != nil {
		return fmt.Errorf("apply ConfigMap %s/%s: %w", home, ConfigMap, err)
	}
	return nil
}

// PublishToken writes the token of the status page into a Secret: commands that may read it log in with it. Many users of a cluster have a client
// certificate and no bearer token of their own.
func PublishToken(ctx context.Context, c *cluster.Client, home, token string) error {
	_, err := c.Dynamic().Resource(SecretResource).Namespace(home).Apply(ctx, Secret, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{keyToken: base64.StdEncoding.EncodeToString([]byte(token))},
		"metadata": map[string]any{"name": Secret, "namespace": home, "labels": map[string]any{Label: "true"}},
	}}, metav1.ApplyOptions{FieldManager: Manager, Force: true})
	if err != nil {
		return fmt.Errorf("apply Secret %s/%s: %w", home, Secret, err)
	}
	return nil
}

// ConfigMaps returns a client for the ConfigMaps of a namespace.
func ConfigMaps(c *cluster.Client, namespace string) dynamic.ResourceInterface {
	return c.Dynamic().Resource(configMapResource).Namespace(namespace)
}

// beyondBuiltin returns a file of claims that turns the built-in catalogue into c.
func beyondBuiltin(c *claim.Catalogue) (string, error) {
	if c == nil {
		return "", nil
	}
	var more []claim.Entry
	for _, e := range c.Entries() {
		if e.File != "" {
			e.File = ""
			more = append(more, e)
		}
	}
	for _, e := range claim.Builtin().Entries() {
		if _, there := c.Entry(e.ID); !there {
			more = append(more, claim.Entry{ID: e.ID, Off: true})
		}
	}
	if len(more) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(map[string]any{"claims": more})
	return string(text), err
}

func remotesText(r upstream.Hosts) string {
	if r.Reach == upstream.ReachNone {
		return noRemotes
	}
	return strings.Join(r.Listed, ",")
}

func remotesOf(text string) upstream.Hosts {
	switch text {
	case "":
		return upstream.Hosts{}
	case noRemotes:
		return upstream.Hosts{Reach: upstream.ReachNone}
	}
	return upstream.Hosts{Listed: strings.Split(text, ",")}
}
