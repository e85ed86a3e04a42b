package argocd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

// namedFields fails where a status has a field that the CustomResourceDefinition of Argo CD does not name. The API server drops such a field where that one is
// installed, and keeps it with truce's.
func namedFields(t *testing.T, status map[string]any) {
	t.Helper()
	text, err := os.ReadFile("testdata/status_fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for _, at := range unnamedFields(named, "", object.CloneValue(status)) {
		t.Errorf("status.%s is no field of Argo CD's", at)
	}
}

// unnamedFields are the paths in a value that are not named, nor below one that is open.
func unnamedFields(named []string, at string, v any) (out []string) {
	if slices.Contains(named, at) || slices.Contains(named, at+" and below") {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for key, of := range v {
			out = append(out, unnamedFields(named, strings.TrimPrefix(at+"."+key, "."), of)...)
		}
	case []any:
		for _, of := range v {
			out = append(out, unnamedFields(named, at, of)...)
		}
	default:
		out = append(out, at)
	}
	return out
}
