package tree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// contents is a store by hash, which counts its reads.
type contents struct {
	all  map[string]string
	read int
}

// Blob implements tree.Blobs.
func (c *contents) Blob(hash string) ([]byte, error) {
	c.read++
	return []byte(c.all[hash]), nil
}

func TestTheIgnoreFilesOfASourceAreBoundedTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		text, spec string
		files      int
		want       string
	}{
		"one file in many directories": {text: "# " + strings.Repeat("x", 100<<10), files: 100, want: "more than 262144 bytes"},
		"many lines":                   {text: strings.Repeat("a\n", 1000), files: 11, want: "more than 10000 lines"},
		"with the lines of the spec":   {text: strings.Repeat("a\n", 6000), spec: strings.Repeat("a\n", 6000), files: 1, want: "more than 10000 lines"},
		"few":                          {text: "a\n", files: 100},
	} {
		t.Run(name, func(t *testing.T) {
			store := &contents{all: map[string]string{"h": tc.text}}
			var list []tree.Entry
			for i := range tc.files {
				list = append(list, tree.Entry{Path: fmt.Sprintf("d%03d/.sourceignore", i), Mode: tree.Regular, Hash: "h", Size: int64(len(tc.text))})
			}
			_, err := tree.NewTree(t.Context(), store, list, tree.Rules{Ignore: tc.spec}, nil)
			var e *tree.Error
			if limited := errors.As(err, &e) && e.Reason == source.LimitExceeded; limited != (tc.want != "") || limited && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if most := 256 << 10 / len(tc.text); store.read > most {
				t.Errorf("%d files of %d bytes were read", store.read, len(tc.text))
			}
		})
	}
}
