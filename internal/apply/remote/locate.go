package remote

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/source/cloud"
)

// Found is the cluster that an app's objects are in.
type Found struct {
	Cluster    project.Cluster    // what the Secret of a named cluster says; the zero value for others
	Kubeconfig cluster.Kubeconfig // the zero value for the cluster of the custom resource
	Refused    error              // why what says how it is connected to cannot be used
}

// LocateCluster finds the other cluster of an app with the rights of a client of the cluster of its custom resource. The error is about that one, and may pass.
func LocateCluster(ctx context.Context, home *cluster.Client, clouds *cloud.Exchange, a app.App) (f Found, err error) {
	if !a.Kubeconfig.IsNamed() {
		f.Kubeconfig, f.Refused, err = readKubeconfig(ctx, home, clouds, a)
		return f, err
	}
	namespace := a.ArgoNamespace()
	secrets := home.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace)
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: identity.ClusterSecrets})
	if err != nil {
		return f, fmt.Errorf("list the cluster Secrets of namespace %s: %w", namespace, err)
	}
	s, refused := chooseSecret(a, list.Items)
	if refused != nil {
		f.Refused = refused
		return f, nil
	}
	if f.Cluster = s.cluster; f.Cluster.Own {
		return f, nil
	}
	if f.Kubeconfig, err = parseConnection(s.cluster.Server, s.config); err != nil {
		f.Refused = fmt.Errorf("%s: Secret %s/%s: %w", a.TargetName(), namespace, s.name, err)
	}
	return f, nil
}

// clusterSecret is a Secret of Argo CD about a cluster (docs/operator-manual/declarative-setup.md of argo-cd).
type clusterSecret struct {
	name    string
	cluster project.Cluster
	config  []byte
}

// chooseSecret finds the Secret of the cluster that an app names.
func chooseSecret(a app.App, all []unstructured.Unstructured) (s clusterSecret, refused error) {
	var found []string
	for i := range all {
		one := readClusterSecret(&all[i])
		if k := a.Kubeconfig; k.ClusterName != "" && one.cluster.Name == k.ClusterName || k.ClusterName == "" && one.cluster.Server == k.ClusterServer {
			s, found = one, append(found, one.name)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return s, fmt.Errorf("%s: no Secret of namespace %s with the label %s describes it", a.TargetName(), a.ArgoNamespace(), identity.ClusterSecrets)
	case 1:
		return s, nil
	}
	return s, fmt.Errorf("%s: several Secrets of namespace %s describe it, want one: %s", a.TargetName(), a.ArgoNamespace(), strings.Join(found, ", "))
}

// readClusterSecret reads what is no credential. A cluster without a name has its address for one, as in Argo CD.
func readClusterSecret(u *unstructured.Unstructured) clusterSecret {
	data, _ := u.Object["data"].(map[string]any)
	get := func(key string) string {
		text, _ := data[key].(string)
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil { // the API server lets none of that be stored
			return ""
		}
		return string(value)
	}
	s := clusterSecret{name: u.GetName(), config: []byte(get("config"))}
	s.cluster = project.Cluster{
		Server: strings.TrimRight(strings.TrimSpace(get("server")), "/"), Name: get("name"), Project: get("project"), Global: get("clusterResources") == "true",
	}
	if s.cluster.Name == "" {
		s.cluster.Name = s.cluster.Server
	}
	s.cluster.Own = s.cluster.Server == identity.OwnServer
	for namespace := range strings.SplitSeq(get("namespaces"), ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			s.cluster.Namespaces = append(s.cluster.Namespaces, namespace)
		}
	}
	return s
}
