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
func reduce(obj any) (any, error) {
	pom, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pom)
	if err != nil {
		return nil, fmt.Errorf("read metadata of %s %s/%s: %w", pom.Kind, pom.Namespace, pom.Name, err)
	}
	return &unstructured.Unstructured{Object: m}, nil
}

func reduced(obj any) (object.Object, error) {
	obj, err := reduce(obj)
	if err != nil {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("watch brought a %T, want an object", obj)
	}
	return u.Object, nil
}

// stub is what is kept of an object: enough to name it.
func stub(o object.Object) object.Object {
	meta := map[string]any{"name": o.Name(), "uid": o.UID()}
	if ns := o.Namespace(); ns != "" {
		meta["namespace"] = ns
	}
	return object.Object{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": meta}
}
