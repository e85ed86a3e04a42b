package identity

// Kubeconfig names what says in which other cluster an app's objects are. The zero value is the cluster of the app's custom resource.
type Kubeconfig struct {
	// Secret is in the app's own namespace, and Key the one that holds the kubeconfig; empty for `value`, and else `value.yaml`.
	Secret, Key string
	// ConfigMap is in the app's own namespace too, and says where the cluster is and which service account of this one it takes tokens of; empty where
	// there is a Secret. Account is the name of that service account where the ConfigMap names none; empty for truce's own.
	ConfigMap, Account string
	// ClusterServer or ClusterName is the address or the name of a cluster, of which a Secret of Argo CD says how it is connected to; empty where there is a
	// Secret or a ConfigMap.
	ClusterServer, ClusterName string
	// Own says that the Secret describes the cluster of the app's custom resource.
	Own bool
	// Refused is why the kubeconfig cannot be used; empty where that is not known.
	Refused string
}

// IsSet reports whether the app's objects are in another cluster than its custom resource.
func (k Kubeconfig) IsSet() bool { return k != Kubeconfig{} && !k.Own }

// IsNamed reports whether a Secret of Argo CD says how the cluster is connected to.
func (k Kubeconfig) IsNamed() bool { return k.ClusterServer != "" || k.ClusterName != "" }

// What Argo CD has about clusters.
const (
	ClusterSecrets = "argocd.argoproj.io/secret-type=cluster" // selects the Secrets that describe them
	OwnServer      = "https://kubernetes.default.svc"         // the address of the one that the custom resource is in
)

// MovedToKey is the annotation by which a user says that an app goes on in another cluster than the one that its objects are in; the value is that
// cluster's identity, or OwnCluster.
const (
	MovedToKey = "truce.dev/target-cluster"
	OwnCluster = "own"
)
