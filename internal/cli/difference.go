package cli

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/field"
	kjson "sigs.k8s.io/json"
)

const differenceKeys = "group, kind, name, namespace, jsonPointers, jqPathExpressions, managedFieldsManagers"

const differenceExample = `{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]}`

// parseDifferences reads the values of --ignore-difference.
func parseDifferences(texts []string) ([]dialect.Difference, error) {
	var out []dialect.Difference
	for _, text := range texts {
		d, err := parseDifference(text)
		if err != nil {
			return nil, usageError("--ignore-difference %s: %v", oneLine(text, 200), err)
		}
		out = append(out, d)
	}
	return out, nil
}

// parseDifference reads one rule, strictly: a key that is written wrong would make another rule than the one that is meant.
func parseDifference(text string) (dialect.Difference, error) {
	var d dialect.Difference
	unknown, err := kjson.UnmarshalStrict([]byte(text), &d)
	switch {
	case err != nil:
		return d, fmt.Errorf("%s; want JSON such as '%s'", strings.TrimPrefix(err.Error(), "json: "), differenceExample)
	case len(unknown) > 0:
		return d, fmt.Errorf("%w; the keys are %s", unknown[0], differenceKeys)
	case d.Kind == "":
		return d, fmt.Errorf("kind is required: whose fields are they?")
	case len(d.JSONPointers)+len(d.JQPathExpressions)+len(d.ManagedFieldsManagers) == 0:
		return d, fmt.Errorf("it names no field: give jsonPointers, jqPathExpressions or managedFieldsManagers")
	}
	for i, p := range d.JSONPointers {
		if _, err := field.ParsePointer(p); err != nil {
			return d, fmt.Errorf("jsonPointers[%d]: %w", i, err)
		}
	}
	return d, nil
}
