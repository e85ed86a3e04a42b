package rules

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func invalidData() rule {
	return rule{Rule: Rule{
		ID: "invalid-data", Severity: Error,
		Title: "a ConfigMap or Secret with data that the server refuses",
		Reason: "A key of data becomes the name of a file: letters, digits, \"-\", \"_\" and \".\" alone, at most 253 of them. The values of a Secret's data " +
			"are base64. The server refuses an object with another one as a whole, and whatever mounts it waits.",
		Remedy: "Rename the key; encode the value, or move it to stringData, which takes it as it is.",
		Source: "Kubernetes pkg/apis/core/validation (ValidateConfigMap, ValidateSecret); measured on kube-apiserver 1.37: a valid config key must consist of " +
			"alphanumeric characters, '-', '_' or '.'; illegal base64 data",
	}, check: (*checker).invalidData}
}

// configMapGVK is the kind of ConfigMaps.
var configMapGVK = object.GVK{Version: "v1", Kind: "ConfigMap"}

func (j *checker) invalidData() []Finding {
	var out []Finding
	for u, o := range j.objects() {
		if o.GVK != secretGVK && o.GVK != configMapGVK || isTemplated(o) {
			continue
		}
		for _, name := range []string{"data", "binaryData", "stringData"} {
			values, _ := o.Data.At(name).(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(values)) {
				out = append(out, j.invalidEntry(u, o, field.NewPath(name, key), values[key])...)
			}
		}
	}
	return out
}

func (j *checker) invalidEntry(u discover.Unit, o desired.Object, p field.Path, v any) []Finding {
	name, key := *p[0].FieldName, *p[1].FieldName
	message, remedy := "", ""
	switch {
	case !isPlaceholder(key) && !isFileName(key):
		message = fmt.Sprintf("the key %q is no name of a file: letters, digits, \"-\", \"_\" and \".\" are allowed", key)
		remedy = "rename the key"
	case name == "binaryData" && o.GVK == configMapGVK && o.Data.At("data", key) != nil:
		message, remedy = fmt.Sprintf("the key %q stands in data and in binaryData", key), "leave one of the two"
	case name == "binaryData" || name == "data" && o.GVK == secretGVK:
		if text, ok := v.(string); ok && !isPlaceholder(text) && !isBase64(text) {
			message, remedy = fmt.Sprintf("the value of %s is no base64", field.PathString(p)), "encode it, or move it to stringData"
		}
	}
	if message == "" {
		return nil
	}
	return []Finding{{
		Unit: u.Name(), Object: o.ID, Path: p, Place: j.files.place(u, o, p),
		Message: fmt.Sprintf("%s %s: %s: the server refuses the object", o.ID.Kind, o.ID.Name, message), Remedy: remedy,
	}}
}

// fileName is what a key of data may be (k8s.io/apimachinery util/validation, which reaches the network).
var fileName = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

const longestFileName = 253

func isFileName(key string) bool {
	return len(key) <= longestFileName && fileName.MatchString(key) && key != "." && !strings.HasPrefix(key, "..")
}

// isBase64 reports whether the API takes a text for bytes: line ends in it do not count.
func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(text))
	return err == nil
}
