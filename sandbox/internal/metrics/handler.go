package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

var groupVersion = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}

// endpoint answers a request with an object or an error.
type endpoint func(*http.Request) (any, error)

// handler routes the paths of the API group. Discovery answers in the old form,
// which the aggregator turns into the new one.
func handler(s *source) http.Handler {
	mux := http.NewServeMux()
	root := "GET /apis/" + groupVersion.Group
	version := root + "/" + groupVersion.Version
	for path, answer := range map[string]endpoint{
		"GET /apis":                              constant(groupList()),
		root:                                     constant(metricsGroup()),
		version:                                  constant(resources()),
		version + "/nodes":                       s.listNodes,
		version + "/nodes/{name}":                s.getNode,
		version + "/pods":                        s.listPods,
		version + "/namespaces/{ns}/pods":        s.listPods,
		version + "/namespaces/{ns}/pods/{name}": s.getPod,
	} {
		mux.Handle(path, answer)
	}
	return mux
}

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := e(r)
	code := http.StatusOK
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		if known, ok := err.(apierrors.APIStatus); ok {
			status = known.Status()
		}
		status.Kind, status.APIVersion = "Status", "v1"
		answer, code = status, int(status.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		klog.FromContext(r.Context()).V(2).Info("reader of metrics went away", "err", err)
	}
}

func constant(answer any) endpoint {
	return func(*http.Request) (any, error) { return answer, nil }
}

func (s *source) listPods(r *http.Request) (any, error) {
	selected, err := selectorOf(r)
	if err != nil {
		return nil, err
	}
	all, err := s.podMetrics(r.Context(), r.PathValue("ns"))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	list := metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{Kind: "PodMetricsList", APIVersion: groupVersion.String()}, Items: []metricsv1beta1.PodMetrics{}}
	for _, m := range all {
		if selected(&m.pod.ObjectMeta) {
			list.Items = append(list.Items, m.metrics(now))
		}
	}
	slices.SortFunc(list.Items, func(a, b metricsv1beta1.PodMetrics) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return list, nil
}

func (s *source) getPod(r *http.Request) (any, error) {
	all, err := s.podMetrics(r.Context(), r.PathValue("ns"))
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.pod.Name == r.PathValue("name") {
			return m.metrics(time.Now()), nil
		}
	}
	return nil, apierrors.NewNotFound(groupVersion.WithResource("pods").GroupResource(), r.PathValue("ns")+"/"+r.PathValue("name"))
}

func (s *source) listNodes(r *http.Request) (any, error) {
	selected, err := selectorOf(r)
	if err != nil {
		return nil, err
	}
	all, err := s.nodeMetrics(r.Context(), time.Now())
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(n metricsv1beta1.NodeMetrics) bool { return !selected(&n.ObjectMeta) })
	return metricsv1beta1.NodeMetricsList{TypeMeta: metav1.TypeMeta{Kind: "NodeMetricsList", APIVersion: groupVersion.String()}, Items: all}, nil
}

func (s *source) getNode(r *http.Request) (any, error) {
	all, err := s.nodeMetrics(r.Context(), time.Now())
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n.Name == r.PathValue("name") {
			return n, nil
		}
	}
	return nil, apierrors.NewNotFound(groupVersion.WithResource("nodes").GroupResource(), r.PathValue("name"))
}

// selectorOf reads labelSelector and fieldSelector; of fields, name and namespace.
func selectorOf(r *http.Request) (func(*metav1.ObjectMeta) bool, error) {
	query := r.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("labelSelector: %v", err))
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("fieldSelector: %v", err))
	}
	return func(o *metav1.ObjectMeta) bool {
		return byLabel.Matches(labels.Set(o.Labels)) &&
			byField.Matches(fields.Set{"metadata.name": o.Name, "metadata.namespace": o.Namespace})
	}, nil
}
