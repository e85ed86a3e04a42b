package appset

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/model/selector"
)

// selectorOf reads that of a generator: of labels, but any text can be a value.
func selectorOf(v any) (selector.Selector, error) {
	var keys []string
	for k := range mapValue(mapValue(v)["matchLabels"]) {
		keys = append(keys, k)
	}
	for _, e := range listValue(mapValue(v)["matchExpressions"]) {
		keys = append(keys, textValue(mapValue(e)["key"]))
	}
	for _, k := range keys {
		if errs := validation.IsQualifiedName(k); len(errs) > 0 {
			return nil, fmt.Errorf("the selector of a generator: key %q: %s", k, strings.Join(errs, "; "))
		}
	}
	s, err := selector.ReadSelector(v)
	if err != nil {
		return nil, fmt.Errorf("the selector of a generator: %w", err)
	}
	return s, nil
}
