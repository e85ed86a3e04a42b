package sops

import (
	"bytes"
	"fmt"
	"strings"
)

// loadDotenv reads lines KEY=value, and comments. What has another line is not encrypted.
func loadDotenv(data []byte) ([]*document, error) {
	root := &block{}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" {
			continue
		}
		if text, ok := strings.CutPrefix(line, "#"); ok {
			root.items = append(root.items, item{comment: &comment{text: text}})
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, ErrPlain
		}
		root.items = append(root.items, item{key: key, value: strings.ReplaceAll(value, `\n`, "\n")})
		if len(root.items) > maxItems {
			return nil, (&budget{items: maxItems}).spend(0)
		}
	}
	m, err := flatMetadata(root.drop(func(key string) bool { return strings.HasPrefix(key, flatPrefix) }), flatPrefix)
	return []*document{{root: root, metadata: m}}, err
}

func dotenvBytes(root *block, view View) ([]byte, error) {
	var out bytes.Buffer
	for _, i := range root.items {
		if i.comment != nil {
			fmt.Fprintf(&out, "#%s\n", i.comment.text)
			continue
		}
		if _, ok := i.value.(*block); ok {
			return nil, fmt.Errorf("%s: a dotenv file holds no mapping or list", i.key)
		}
		value := leafValue(i.value, view)
		text := plainText(value)
		if _, ok := value.(string); ok {
			text = strings.ReplaceAll(text, "\n", `\n`)
		}
		fmt.Fprintf(&out, "%s=%s\n", i.key, text)
	}
	return out.Bytes(), nil
}
