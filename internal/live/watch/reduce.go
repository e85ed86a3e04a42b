package watch

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// reduce brings what the clients decode into one form: plain maps inside Unstructured. It keeps all that arrived: whole
// objects are judged and dropped, metadata has nothing to spare.
func (s *store) reduce(obj any) (any, error) {
	pom, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pom)
	if err != nil {
		return nil, fmt.Errorf("read metadata of %s %s/%s: %w", pom.Kind, pom.Namespace, pom.Name, err)
	}
	// The server calls all metadata PartialObjectMetadata.
	m["apiVersion"], m["kind"] = s.interest.GVK.APIVersion(), s.interest.GVK.Kind
	return &unstructured.Unstructured{Object: m}, nil
}

func (s *store) reduced(obj any) (object.Object, error) {
	obj, err := s.reduce(obj)
	if err != nil {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("watch brought a %T, want an object", obj)
	}
	return u.Object, nil
}

// stub names an object of which no more is known.
func (s *store) stub(id object.ID, uid string) object.Object {
	meta := map[string]any{"name": id.Name, "uid": uid}
	if id.Namespace != "" {
		meta["namespace"] = id.Namespace
	}
	return object.Object{"apiVersion": s.interest.GVK.APIVersion(), "kind": id.Kind, "metadata": meta}
}
