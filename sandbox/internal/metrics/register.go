package metrics

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

func metricsGroup() metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion.String(), Version: groupVersion.Version}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"},
		Name:     groupVersion.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}

func groupList() metav1.APIGroupList {
	return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{metricsGroup()}}
}

func resources() metav1.APIResourceList {
	return metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: groupVersion.String(),
		APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: metav1.Verbs{"get", "list"}},
			{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
		},
	}
}

// Register registers the server with the API server and returns when it is found.
// The port is a new one at each start.
func (s *Server) Register(ctx context.Context, config *rest.Config, authority []byte) error {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	registry, err := aggregator.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if err := registerService(ctx, core); err != nil {
		return fmt.Errorf("metrics: service: %w", err)
	}
	if err := registerAPI(ctx, registry, s.apiService(authority)); err != nil {
		return fmt.Errorf("metrics: APIService: %w", err)
	}
	return nil
}

// registerService points the name at this machine: an address of loopback is
// not allowed in endpoints, a name is.
func registerService(ctx context.Context, core kubernetes.Interface) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := core.CoreV1().Services(serviceNamespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: serviceName},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		}, metav1.CreateOptions{})
		// The API server makes kube-system a moment after it is ready.
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (s *Server) apiService(authority []byte) *apiregistration.APIService {
	port := int32(s.listener.Addr().(*net.TCPAddr).Port)
	return &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: groupVersion.Version + "." + groupVersion.Group},
		Spec: apiregistration.APIServiceSpec{
			Service:              &apiregistration.ServiceReference{Namespace: serviceNamespace, Name: serviceName, Port: &port},
			Group:                groupVersion.Group,
			Version:              groupVersion.Version,
			CABundle:             authority,
			GroupPriorityMinimum: 100,
			VersionPriority:      100,
		},
	}
}

func registerAPI(ctx context.Context, registry aggregator.Interface, want *apiregistration.APIService) error {
	services := registry.ApiregistrationV1().APIServices()
	_, err := services.Create(ctx, want, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		have, err := services.Get(ctx, want.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if reflect.DeepEqual(have.Spec, want.Spec) {
			return available(have), nil
		}
		have.Spec = want.Spec
		_, err = services.Update(ctx, have, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return false, err
	})
}

func available(s *apiregistration.APIService) bool {
	return slices.ContainsFunc(s.Status.Conditions, func(c apiregistration.APIServiceCondition) bool {
		return c.Type == apiregistration.Available && c.Status == apiregistration.ConditionTrue
	})
}
