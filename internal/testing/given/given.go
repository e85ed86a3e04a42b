// Package given answers: which objects and files does a test give to the code under test?
//
// In: the YAML that a test has written, and the texts of files.
// Out: the object, as the API machinery decodes it; a tree in memory, as a source is.
// Promise: whole numbers are int64 and all others float64, as in the program; a text that cannot be decoded ends the test; equal sums of a
// tree mean equal content.
// Not here: files on a disk (golden.Files.Write) and in a repository (gittest), texts of several documents.
package given

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Object decodes YAML. An empty text is a nil object.
func Object(t testing.TB, text string) object.Object {
	t.Helper()
	o, err := ParseObject(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ParseObject is Object for a text that may be wrong. It fails where the text is no YAML, or its top is no map.
func ParseObject(text string) (object.Object, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var o map[string]any
	err = utiljson.Unmarshal(data, &o)
	return o, err
}
