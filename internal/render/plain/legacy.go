package plain

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
)

// kubectlManifests is render.Manifests for what is applied without Kustomize.
func kubectlManifests(file string, data []byte) ([]render.Object, error) {
	nodes, err := render.ParseNodes(file, data)
	if err != nil {
		return nil, err
	}
	var all []render.Object
	for _, n := range nodes {
		asKubectl(n)
		found, err := render.Document(file, n)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// legacyBooleans are what YAML 1.1 takes for booleans beside true and false (https://yaml.org/type/bool.html), as sigs.k8s.io/yaml does.
var legacyBooleans = map[string]string{
	"y": "true", "Y": "true", "yes": "true", "Yes": "true", "YES": "true", "on": "true", "On": "true", "ON": "true",
	"n": "false", "N": "false", "no": "false", "No": "false", "NO": "false", "off": "false", "Off": "false", "OFF": "false",
}

// asKubectl changes a parsed document so that render.DecodeValue reads it as kubectl and Argo CD do, with sigs.k8s.io/yaml: a plain yes, on or y is a
// boolean, also as a key, whose name it then is, and a date stays as it is written. Kustomize, and so Flux, takes them for strings and
// writes a date as RFC 3339 has it.
func asKubectl(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		legacyScalar(n)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			legacyKey(n.Content[i])
			asKubectl(n.Content[i+1])
		}
	case yaml.SequenceNode, yaml.DocumentNode:
		for _, e := range n.Content {
			asKubectl(e)
		}
	case yaml.AliasNode: // what it stands for is in the document too
	}
}

func legacyScalar(n *yaml.Node) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	tag := n.ShortTag()
	switch value, ok := legacyBooleans[n.Value]; {
	case ok && (tag == "!!bool" || tag == "!!str" && n.Style&(quoted|yaml.TaggedStyle) == 0):
		n.Tag, n.Value = "!!bool", value
	case tag == "!!timestamp":
		n.Tag = "!!str"
	}
}

// legacyKey gives a key that is no string the text that its value has in JSON.
func legacyKey(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!merge" {
		return
	}
	legacyScalar(n)
	switch n.ShortTag() {
	case "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) == nil {
			n.Tag, n.Value = "!!str", fmt.Sprint(v)
		}
	}
}
