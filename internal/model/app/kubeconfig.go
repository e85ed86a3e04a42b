package app

import "cmp"

// KubeconfigName names the Secret or ConfigMap that says in which cluster the app's objects are, for messages.
func (a App) KubeconfigName() string {
	if a.Kubeconfig.ConfigMap != "" {
		return "ConfigMap " + a.Key.Namespace + "/" + a.Kubeconfig.ConfigMap
	}
	return "Secret " + a.Key.Namespace + "/" + a.Kubeconfig.Secret
}

// TargetName names the other cluster that the app's objects are in, for messages.
func (a App) TargetName() string {
	if a.Kubeconfig.IsNamed() {
		return "cluster " + cmp.Or(a.Kubeconfig.ClusterName, a.Kubeconfig.ClusterServer)
	}
	if a.Kubeconfig.ConfigMap != "" {
		return "the cluster of " + a.KubeconfigName()
	}
	return "the cluster of the kubeconfig in " + a.KubeconfigName()
}
