package adhoc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// SortLikeKustomize puts objects into the order in which kubectl kustomize prints them: kustomize's "legacy" order, that of a kustomization
// without sortOptions (sigs.k8s.io/kustomize/api/internal/builtins, SortOrderTransformer). The controller has waves instead.
func SortLikeKustomize(list []render.Object) {
	slices.SortStableFunc(list, func(a, b render.Object) int { return compareLegacy(a.Data, b.Data) })
}

func compareLegacy(a, b object.Object) int {
	x, y := a.GVK(), b.GVK()
	kinds := strings.Compare(sortText(x), sortText(y))
	if x.Kind == "Namespace" && y.Kind == "Namespace" && (x.Group == "" || y.Group == "") {
		kinds = -kinds
	}
	return cmp.Or(cmp.Compare(kindRank(x.Kind), kindRank(y.Kind)), kinds,
		strings.Compare(cmp.Or(a.Namespace(), "~X")+"|"+a.Name(), cmp.Or(b.Namespace(), "~X")+"|"+b.Name()))
}

func sortText(g object.GVK) string { return cmp.Or(g.Group, "~G") + "_" + g.Version + "_" + g.Kind }

var (
	orderFirst = []string{
		"Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount", "PodSecurityPolicy", "Role",
		"ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Endpoints", "Service", "LimitRange",
		"PriorityClass", "PersistentVolume", "PersistentVolumeClaim", "Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
	}
	orderLast = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)

func kindRank(kind string) int {
	if i := slices.Index(orderFirst, kind); i >= 0 {
		return i - len(orderFirst)
	}
	return slices.Index(orderLast, kind) + 1
}
