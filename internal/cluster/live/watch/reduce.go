package watch

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// read brings what the clients decode into one form: plain maps. Nothing of it is dropped: whole objects are judged and
// let go, metadata has nothing to spare.
func (s *store) read(obj any) (object.Object, error) {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return obj.Object, nil
	case *metav1.PartialObjectMetadata:
		return s.readMetadata(obj)
	}
	return nil, fmt.Errorf("watch of %s brought a %T, want an object", s.interest.GVK, obj)
}

func (s *store) readMetadata(p *metav1.PartialObjectMetadata) (object.Object, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, fmt.Errorf("read metadata of %s %s/%s: %w", s.interest.GVK, p.Namespace, p.Name, err)
	}
	// The server calls all metadata PartialObjectMetadata.
	m["apiVersion"], m["kind"] = s.interest.GVK.APIVersion(), s.interest.GVK.Kind
	return m, nil
}

// stub names an object of which no more is known.
func (s *store) stub(id object.ID, uid string) object.Object {
	meta := map[string]any{"name": id.Name, "uid": uid}
	if id.Namespace != "" {
		meta["namespace"] = id.Namespace
	}
	return object.Object{"apiVersion": s.interest.GVK.APIVersion(), "kind": id.Kind, "metadata": meta}
}
