package cluster

import (
	"bytes"
	gojson "encoding/json"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// newDynamic is dynamic.NewForConfigAndClient with another decoder: what client-go scans some six times to decode an answer, and twelve times for an
// event of a watch, is scanned twice and five times. What it decodes to is the same.
func newDynamic(config *rest.Config, h *http.Client) (dynamic.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.NegotiatedSerializer = codec{config.NegotiatedSerializer}
	config.GroupVersion, config.APIPath = nil, "/" // each request of a dynamic client has its own
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, h)
	if err != nil {
		return nil, err
	}
	return dynamic.New(client), nil
}

// codec decodes JSON by objectDecoder and eventDecoder.
type codec struct{ runtime.NegotiatedSerializer }

func (c codec) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clone(c.NegotiatedSerializer.SupportedMediaTypes())
	for i := range all {
		if info := &all[i]; info.MediaType == runtime.ContentTypeJSON {
			stream := *info.StreamSerializer
			stream.Serializer = eventDecoder{stream.Serializer}
			info.Serializer, info.StreamSerializer = objectDecoder{info.Serializer}, &stream
		}
	}
	return all
}

// objectDecoder decodes plain objects itself, and leaves all else to client-go: statuses, lists, and what is no object.
type objectDecoder struct{ runtime.Serializer }

func (d objectDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	o, ok := into.(*unstructured.Unstructured)
	if into == nil {
		o, ok = &unstructured.Unstructured{}, true
	}
	if !ok {
		return d.Serializer.Decode(data, defaults, into)
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return d.Serializer.Decode(data, defaults, into)
	}
	read := unstructured.Unstructured{Object: content}
	gvk := read.GroupVersionKind()
	if gvk.Kind == "" || gvk.Version == "" || into == nil && isTyped(gvk) {
		return d.Serializer.Decode(data, defaults, into)
	}
	o.Object = content
	return o, &gvk, nil
}

// typed are the kinds that a dynamic client decodes to types of Go: Status, which a watch ends with, and the like.
var typed = func() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}()

func isTyped(gvk schema.GroupVersionKind) bool {
	_, err := typed.New(gvk)
	return err == nil
}

// eventDecoder finds the object in an event of a watch in the form in which API servers write it (metav1.WatchEvent): the type, then the object, and
// nothing else. Any other form is left to client-go.
type eventDecoder struct{ runtime.Serializer }

func (d eventDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	kind, object, isPlain := cutEvent(bytes.TrimSpace(data))
	if !ok || !isPlain {
		return d.Serializer.Decode(data, defaults, into)
	}
	event.Type, event.Object.Raw = kind, object
	gvk := metav1.SchemeGroupVersion.WithKind("WatchEvent")
	return event, &gvk, nil
}

// cutEvent returns the type of an event and the text of its object, which is part of data.
func cutEvent(data []byte) (kind string, object []byte, isPlain bool) {
	data, begins := bytes.CutPrefix(data, []byte(`{"type":"`))
	name, object, found := bytes.Cut(data, []byte(`","object":`))
	object, ends := bytes.CutSuffix(object, []byte("}"))
	object = bytes.TrimSpace(object)
	isName := len(bytes.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
	isPlain = begins && found && ends && isName && bytes.HasPrefix(object, []byte("{")) && gojson.Valid(object) // nothing follows the object
	return string(name), object, isPlain
}
