package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

// serializers returns what client-go decodes answers with, and what truce does.
func serializers(f testing.TB) (theirs, ours runtime.SerializerInfo) {
	s := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	theirs, ok := runtime.SerializerInfoForMediaType(s.SupportedMediaTypes(), runtime.ContentTypeJSON)
	ours, too := runtime.SerializerInfoForMediaType(codec{s}.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok || !too {
		f.Fatal("no serializer of JSON")
	}
	return theirs, ours
}

var answers = []string{
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":3,"f":1.0,"big":9007199254740993,"e":1e3,"n":null,"l":[1,"a",{}]}}`,
	`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`,
	`{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"a"}}]}`,
	`{"kind":"ConfigMap"}`, `{"apiVersion":"v1"}`, `{"apiVersion":"a/b/c","kind":"X"}`, `{"apiVersion":1,"kind":"X"}`, `{"apiVersion":"v1","kind":["X"]}`,
	`null`, `[]`, `{`, ``, `{"apiVersion":"v1","kind":"X","a":1,"a":2}`, `{"apiVersion":"v1","kind":"X","x":"Y"}`, ` {"apiVersion":"v1","kind":"X"} `,
	`{"apiVersion":"v1","kind":"X"} {}`, "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"s\":\"\xff\\ud800\"}",
}

// FuzzAnswersAreDecodedAsByClientGo wants the objects, kinds and errors of client-go for each answer, and each event.
func FuzzAnswersAreDecodedAsByClientGo(f *testing.F) {
	theirs, ours := serializers(f)
	for _, a := range answers {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if hasOtherKind(data) {
			return // client-go takes "Kind" for "kind" to find a type, and does not to read the object
		}
		for _, into := range []func() runtime.Object{
			func() runtime.Object { return nil },
			func() runtime.Object { return &unstructured.Unstructured{} },
			func() runtime.Object { return &unstructured.UnstructuredList{} },
			func() runtime.Object { return &metav1.Status{} },
		} {
			want, wantKind, wantErr := theirs.Serializer.Decode(data, nil, into())
			got, gotKind, gotErr := ours.Serializer.Decode(data, nil, into())
			if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || wantErr == nil && (!reflect.DeepEqual(got, want) || *gotKind != *wantKind) {
				t.Errorf("into %T: %v %v %v, want %v %v %v", into(), got, gotKind, gotErr, want, wantKind, wantErr)
			}
		}
		if raw, err := json.Marshal(metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: data}}); err == nil {
			sameEvents(t, theirs, ours, raw)
		}
	})
}

// hasOtherKind reports whether an object has a field that differs from its kind's or version's by case.
func hasOtherKind(data []byte) bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // what is no object has none
	for name := range fields {
		if strings.EqualFold(name, "kind") && name != "kind" || strings.EqualFold(name, "apiVersion") && name != "apiVersion" {
			return true
		}
	}
	return false
}

// FuzzEventsAreDecodedAsByClientGo has events of forms that no API server writes.
func FuzzEventsAreDecodedAsByClientGo(f *testing.F) {
	theirs, ours := serializers(f)
	for _, e := range []string{
		`{"type":"ADDED","object":{"apiVersion":"v1","kind":"A"}}`, `{"object":{"apiVersion":"v1","kind":"A"},"type":"ADDED"}`,
		`{ "type": "ADDED", "object": {"apiVersion":"v1","kind":"A"} }`, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"A"},"more":1}`,
		`{"type":"ADDED","object":{"apiVersion":"v1","kind":"A"},"more":{}}`, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"A"},"object":{"apiVersion":"v1","kind":"B"}}`,
		`{"type":"\u0041DDED","object":{"apiVersion":"v1","kind":"A"}}`, `{"type":"ODD","object":{"apiVersion":"v1","kind":"A"}}`, `{"type":"ADDED","object":null}`,
		`{"type":"ADDED","object":{} }`, `{"type":"ADDED"}`, `{"type":"a\\","object":{"x":"y","object":{}}}`, `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","code":410}}`,
	} {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var event metav1.WatchEvent
		if json.Unmarshal(data, &event) == nil && hasOtherKind(event.Object.Raw) {
			return // as for answers
		}
		sameEvents(t, theirs, ours, data)
	})
}

// sameEvents reads a stream of an event, and of the same once more, for a decoder uses its buffer again.
func sameEvents(t *testing.T, theirs, ours runtime.SerializerInfo, event []byte) {
	t.Helper()
	text := bytes.Join([][]byte{event, event}, []byte("\n"))
	read := func(s runtime.SerializerInfo) (all []string) {
		stream := streaming.NewDecoder(s.StreamSerializer.NewFrameReader(io.NopCloser(bytes.NewReader(text))), s.StreamSerializer.Serializer)
		d := restwatch.NewDecoder(stream, s.Serializer)
		for range 2 {
			kind, o, err := d.Decode()
			shown, _ := json.Marshal(o) // of an object, or null beside an error
			all = append(all, fmt.Sprintf("%s %T %s %v", kind, o, shown, err))
		}
		return all
	}
	if got, want := read(ours), read(theirs); !reflect.DeepEqual(got, want) {
		t.Errorf("of %s\n got %v\nwant %v", event, got, want)
	}
}
