package selector_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/truce-gitops/truce/internal/model/selector"
)

// TestASelectorIsThatOfKubernetes asks the library of Kubernetes.
func TestASelectorIsThatOfKubernetes(t *testing.T) {
	sets := []map[string]string{nil, {"app": "web"}, {"app": "db", "tier": "back"}, {"tier": ""}}
	for _, text := range []string{
		`{}`, `{"matchLabels": {"app": "web"}}`, `{"matchLabels": {"app": "web", "tier": "back"}}`, `{"matchLabels": {"tier": ""}}`,
		`{"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}`,
		`{"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}`,
		`{"matchExpressions": [{"key": "tier", "operator": "Exists"}]}`,
		`{"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}, {"key": "app", "operator": "Exists"}]}`,
		`{"matchExpressions": [{"key": "tier", "operator": "In"}]}`,
		`{"matchExpressions": [{"key": "tier", "operator": "Exists", "values": ["a"]}]}`,
		`{"matchExpressions": [{"key": "tier", "operator": "Gt", "values": ["1"]}]}`,
		`{"matchExpressions": [{"key": "", "operator": "Exists"}]}`,
	} {
		var v any
		var want metav1.LabelSelector
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		theirs, theirErr := metav1.LabelSelectorAsSelector(&want)
		ours, err := selector.ReadSelector(v)
		if (err == nil) != (theirErr == nil) {
			t.Errorf("%s: %v, and %v by Kubernetes", text, err, theirErr)
			continue
		}
		for _, set := range sets {
			if err == nil && ours.Matches(set) != theirs.Matches(labels.Set(set)) {
				t.Errorf("%s of %v: %v", text, set, ours.Matches(set))
			}
		}
	}
	for _, v := range []any{"app=web", map[string]any{"matchLabels": map[string]any{"a": true}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "In", "values": []any{1}}}}} {
		if _, err := selector.ReadSelector(v); err == nil {
			t.Errorf("%v is a selector", v)
		}
	}
}
