package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/yamltext"
)

// The bounds of one file. They are far above what the API server accepts of one object.
const (
	maxDepth   = 1_000     // nested maps and lists
	maxAliased = 100_000   // values made by aliases in one document
	maxValues  = 5_000_000 // values in one document
)

// DecodeValue decodes a document as JSON has it: maps, lists, strings, booleans, int64, float64, nil. It reads YAML as Kustomize
// does (1.2 core schema with merge keys: "yes" is a string, a date becomes that of RFC 3339) and refuses
// duplicate keys, keys that are no scalars, and bombs. Errors are *Error with the line.
func DecodeValue(file string, document *yaml.Node) (any, error) {
	c := converter{file: file}
	return c.value(document, 0)
}

// ParseNodes parses every document of a YAML or JSON file and returns their top nodes; empty documents are left out. A file may hold several
// JSON values one after the other, as kubectl reads them.
func ParseNodes(file string, data []byte) ([]*yaml.Node, error) {
	text, err := yamltext.ManifestText(data)
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	if strings.EqualFold(path.Ext(file), ".json") {
		text = jsonAsYAML(text)
	}
	nodes, err := yamlNodes(file, text)
	if err == nil {
		return nodes, nil
	}
	if found, ok, jsonErr := jsonNodes(file, text); ok {
		return found, jsonErr
	}
	return nil, err
}

// yamlNodes parses the documents of YAML.
func yamlNodes(file string, text []byte) ([]*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var nodes []*yaml.Node
	for {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, yamlError(file, err)
		}
		if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
			continue
		}
		nodes = append(nodes, doc.Content[0])
	}
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)

// yamlError moves the line number of the parser's message to where ours stand, and takes out what it quotes.
func yamlError(file string, err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{File: file}
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
	}
	e.Err = errors.New(redact.WithoutQuoted(msg))
	return e
}

// converter makes plain values of the nodes of one document, and counts.
type converter struct {
	file            string
	values, aliased int
	inAlias         int
}

func (c *converter) fail(n *yaml.Node, format string, args ...any) error {
	return &Error{File: c.file, Line: n.Line, Err: fmt.Errorf(format, args...)}
}

func (c *converter) count(n *yaml.Node, depth int) error {
	c.values++
	if c.inAlias > 0 {
		c.aliased++
	}
	switch {
	case depth > maxDepth:
		return c.fail(n, "nested deeper than %d: %w", maxDepth, ErrLimit)
	case c.aliased > maxAliased:
		return c.fail(n, "aliases make more than %d values: %w", maxAliased, ErrLimit)
	case c.values > maxValues:
		return c.fail(n, "more than %d values: %w", maxValues, ErrLimit)
	}
	return nil
}

func (c *converter) value(n *yaml.Node, depth int) (any, error) {
	if err := c.count(n, depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		c.inAlias++
		defer func() { c.inAlias-- }()
		return c.value(n.Alias, depth+1)
	case yaml.ScalarNode:
		return c.scalar(n)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := c.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return c.mapping(n, depth)
	default:
		return nil, c.fail(n, "unexpected YAML node")
	}
}

func (c *converter) mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	lines := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		key, err := c.key(k)
		if err != nil {
			return nil, err
		}
		if first, ok := lines[key]; ok {
			return nil, c.fail(k, "key %q is already set at line %d", key, first)
		}
		lines[key] = k.Line
		if m[key], err = c.value(v, depth+1); err != nil {
			return nil, err
		}
	}
	for _, v := range merges {
		if err := c.merge(m, v, depth+1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// merge adds the keys of a merge key's value that are not set yet (https://yaml.org/type/merge.html).
func (c *converter) merge(m map[string]any, n *yaml.Node, depth int) error {
	v, err := c.value(n, depth)
	if err != nil {
		return err
	}
	sources, ok := v.([]any)
	if !ok {
		sources = []any{v}
	}
	for _, s := range sources {
		from, ok := s.(map[string]any)
		if !ok {
			return c.fail(n, "a merge key needs a map or a list of maps")
		}
		for k, e := range from {
			if _, set := m[k]; !set {
				m[k] = e
			}
		}
	}
	return nil
}

func (c *converter) key(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", c.fail(n, "a key must be a scalar")
	}
	return n.Value, nil
}

func (c *converter) scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!int", "!!float", "!!bool", "!!timestamp", "!!binary":
		return c.plain(n)
	}
	return n.Value, nil
}

func (c *converter) plain(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, yamlError(c.file, err)
	}
	switch v := v.(type) {
	case time.Time: // JSON has none; so encoding/json writes it
		return v.Format(time.RFC3339Nano), nil
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		// JSON writes a whole number without a point, and a reader of JSON takes it for an integer.
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), nil
		}
		if v-v != 0 {
			return nil, c.fail(n, "%s is no JSON number", n.Value)
		}
	}
	return v, nil
}
