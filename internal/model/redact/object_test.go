package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

func secretWith(parts object.Object) object.Object {
	out := object.Object{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": map[string]any{
		"name": "db", "labels": map[string]any{"app": "db"}, "annotations": map[string]any{"last": "hunter2"},
	}}
	for k, v := range parts {
		out[k] = v
	}
	return out
}

func TestAMaskedSecretHasItsKeysAndNoAPIServerTakesIt(t *testing.T) {
	m := redact.Mask{Key: []byte("key")}
	one, masked := m.Object(secretWith(object.Object{"stringData": map[string]any{"password": "hunter2", "user": "shop"}}))
	two, _ := m.Object(secretWith(object.Object{"data": map[string]any{"password": "aHVudGVyMg==", "user": "c2hvcDI="}}))
	if !masked {
		t.Error("it is not said that it is masked")
	}
	data, other := one["data"].(map[string]any), two["data"].(map[string]any)
	if one["stringData"] != nil || data["password"] != other["password"] || data["user"] == other["user"] {
		t.Errorf("equal values have different marks, or different ones the same:\n%v\n%v", one, two)
	}
	text, err := json.Marshal([]any{one, two})
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "aHVu") {
		t.Errorf("%v: a value is shown: %s", err, text)
	}
	if !strings.HasPrefix(data["password"].(string), "***") { // * is no base64
		t.Errorf("a server would take %v", data["password"])
	}
	if diff := cmp.Diff(map[string]any{"app": "db"}, one.Object().At("metadata", "labels")); diff != "" || one["type"] != "Opaque" {
		t.Errorf("what is open is hidden: %s", diff)
	}
}

func TestWhatIsNoSecretStaysAsItIs(t *testing.T) {
	o := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}
	got, masked := redact.Mask{}.Object(o)
	if diff := cmp.Diff(o, got.Object()); diff != "" || masked {
		t.Errorf("masked %v (-want +got):\n%s", masked, diff)
	}
}

func TestASecretOfTheWrongFormIsMaskedToo(t *testing.T) {
	for _, data := range []any{"hunter2", []any{"hunter2"}, map[string]any{"a": map[string]any{"b": "hunter2"}}} {
		for _, key := range []string{"data", "stringData", "spec", "metadata"} {
			got, _ := redact.Mask{}.Object(object.Object{"apiVersion": "v1", "kind": "Secret", key: data})
			text, err := json.Marshal(got)
			if err != nil || key != "metadata" && strings.Contains(string(text), "hunter2") {
				t.Errorf("%s: %v: %s", key, err, text)
			}
		}
	}
}

func TestNothingThatADecoderQuotesIsLeft(t *testing.T) {
	for text, want := range map[string]string{
		"cannot decode !!str `hunter2` as a !!int":                                                        "cannot decode !!str `***` as a !!int",
		"unknown anchor 'hunter2' referenced":                                                             "unknown anchor '***' referenced",
		"unable to parse SM or JSON patch from [patch: \"a]\\nhunter2\"]":                                 "unable to parse SM or JSON patch from [***",
		"wrong node kind: expected ScalarNode but got MappingNode: node contents:\nhunter2":               "wrong node kind: expected ScalarNode but got MappingNode: node contents:***",
		"loading KV pairs: literal sources [hunter2]: invalid literal source hunter2, expected key=value": "loading KV pairs: literal sources ***",
		"env file: \"hunter2 x\" is not a valid key name: no spaces":                                      "env file: \"***\" is not a valid key name: no spaces",
		"options.index 9 is out of bounds for value hunter2":                                              "options.index 9 is out of bounds for value ***",
		"received error x for the following resource:\nkind: Secret\na: hunter2":                          "received error x for the following resource:***",
		"missing metadata.name in object map[data:hunter2]":                                               "missing metadata.name in object ***",
		"missing.yaml: no such file":                                                                      "missing.yaml: no such file",
	} {
		if got := redact.WithoutQuoted(text); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func FuzzNoValueOfASecretIsLeft(f *testing.F) {
	f.Add([]byte(`{"data":{"a":"aHVudGVyMg=="},"stringData":{"b":"hunter2"},"metadata":{"annotations":{"c":"hunter2"}}}`))
	f.Add([]byte(`{"data":null,"stringData":["hunter2"],"spec":{"a":["hunter2"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o object.Object
		if json.Unmarshal(text, &o) != nil || o == nil {
			return
		}
		o["apiVersion"], o["kind"] = "v1", "Secret"
		got, masked := redact.Mask{Key: []byte("k")}.Object(o)
		if !masked {
			t.Fatal("not masked")
		}
		for k, v := range got {
			if k != "apiVersion" && k != "kind" && k != "type" && k != "immutable" && k != "metadata" {
				onlyMarks(t, k, v)
			}
		}
	})
}

func onlyMarks(t *testing.T, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			onlyMarks(t, at+"."+k, e)
		}
	case []any:
		for _, e := range v {
			onlyMarks(t, at+"[]", e)
		}
	default:
		if s, ok := v.(string); !ok || !strings.HasPrefix(s, "***") {
			t.Errorf("%s: %v", at, v)
		}
	}
}
