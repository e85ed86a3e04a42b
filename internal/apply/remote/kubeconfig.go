package remote

import (
	"context"
	"encoding/base64"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/cloud"
)

// kubeconfigKeys are the keys of a Secret that hold a kubeconfig where none is named (Flux's KubeConfigReference).
var kubeconfigKeys = []string{"value", "value.yaml"}

// readKubeconfig reads, with the rights of a client of the cluster of an app's custom resource, how the app's other cluster is connected to. refused says
// why what is there cannot be used; the error is about the client's cluster, and may pass.
func readKubeconfig(ctx context.Context, home *cluster.Client, clouds *cloud.Exchange, a app.App) (k cluster.Kubeconfig, refused, err error) {
	if a.Kubeconfig.ConfigMap != "" {
		return readReference(ctx, home, clouds, a)
	}
	u, refused, err := readNamed(ctx, home, a, "secrets", a.Kubeconfig.Secret)
	if refused != nil || err != nil {
		return k, refused, err
	}
	text, refused := kubeconfigText(a, u)
	if refused != nil {
		return k, refused, nil
	}
	if k, err = cluster.ParseKubeconfig(text); err != nil {
		return k, fmt.Errorf("the kubeconfig in %s: %w", a.KubeconfigName(), err), nil
	}
	return k, nil, nil
}

func readReference(ctx context.Context, home *cluster.Client, clouds *cloud.Exchange, a app.App) (k cluster.Kubeconfig, refused, err error) {
	u, refused, err := readNamed(ctx, home, a, "configmaps", a.Kubeconfig.ConfigMap)
	if refused != nil || err != nil {
		return k, refused, err
	}
	data, _, _ := unstructured.NestedStringMap(u.Object, "data") // the schema allows no other values
	r, err := cluster.ParseReference(data)
	if err != nil {
		return k, fmt.Errorf("%s: %w", a.KubeconfigName(), err), nil
	}
	var account identity.Account
	if r.Account == "" {
		r.Account = a.Kubeconfig.Account
	}
	if r.Account != "" {
		account = identity.Account{Namespace: a.Key.Namespace, Name: r.Account}
	}
	if r.Cloud == provider.NoCloud {
		return r.Kubeconfig(home, account), nil, nil
	}
	id := provider.Identity{Cloud: r.Cloud, Namespace: a.Key.Namespace, Account: account.Name}
	at, err := clouds.Locate(ctx, id, cloud.Cluster{Name: r.Name, Address: r.Address, CA: r.CA})
	if ctx.Err() != nil {
		return k, nil, ctx.Err()
	}
	if err != nil {
		return k, fmt.Errorf("%s: %w", a.KubeconfigName(), err), nil
	}
	r.Address, r.CA = at.Address, at.CA
	return r.CloudKubeconfig(identity.Account{Namespace: a.Key.Namespace, Name: r.Account}, cloudTokens{clouds, id, r.Name}), nil, nil
}

// cloudTokens are those of an identity at a cloud for one of its clusters.
type cloudTokens struct {
	clouds *cloud.Exchange
	id     provider.Identity
	name   string
}

// Token returns one that has not expired.
func (t cloudTokens) Token(ctx context.Context) (string, error) {
	return t.clouds.ClusterToken(ctx, t.id, t.name)
}

// Reject has another one asked for.
func (t cloudTokens) Reject(token string) { t.clouds.RejectToken(token) }

// readNamed reads an object of the app's namespace.
func readNamed(ctx context.Context, home *cluster.Client, a app.App, resource, name string) (u *unstructured.Unstructured, refused, err error) {
	u, err = home.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(a.Key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s, with the %s of the cluster, is not there", a.KubeconfigName(), connectionField(a)), nil
	case err != nil:
		return nil, nil, fmt.Errorf("read %s: %w", a.KubeconfigName(), err)
	}
	return u, nil, nil
}

// connectionField is what an app's Secret or ConfigMap holds, for a message.
func connectionField(a app.App) string {
	if a.Kubeconfig.ConfigMap != "" {
		return "address"
	}
	return "kubeconfig"
}

func kubeconfigText(a app.App, u *unstructured.Unstructured) (text []byte, refused error) {
	data, _ := u.Object["data"].(map[string]any)
	keys := kubeconfigKeys
	if a.Kubeconfig.Key != "" {
		keys = []string{a.Kubeconfig.Key}
	}
	for _, key := range keys {
		encoded, there := data[key].(string)
		if !there {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("key %s of %s is not base64", key, a.KubeconfigName())
		}
		return text, nil
	}
	return nil, fmt.Errorf("%s has no key %s with a kubeconfig", a.KubeconfigName(), keys[0])
}
