package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// columnForms are the forms of -o that name columns, as kubectl has them. Texts of errors are kubectl's
// (k8s.io/kubectl/pkg/cmd/get/customcolumn.go), which is no library.
var columnForms = []string{"custom-columns", "custom-columns-file"}

// columns prints items in columns that the user has named.
type columns struct {
	heads  []string
	paths  []*jsonpath.JSONPath
	bare   bool
	widths []int // of what was printed so far
}

func newColumns(form, spec string) (*columns, error) {
	heads, paths, err := columnSpecs(spec)
	if form == "custom-columns-file" {
		heads, paths, err = columnFile(spec)
	}
	if err != nil {
		return nil, err
	}
	c := &columns{heads: heads}
	for _, text := range paths {
		p, err := parseRelaxedPath(text)
		if err != nil {
			return nil, err
		}
		c.paths = append(c.paths, p)
	}
	return c, nil
}

// columnSpecs reads NAME:.metadata.name,SYNC:.sync.
func columnSpecs(spec string) (heads, paths []string, err error) {
	if spec == "" {
		return nil, nil, fmt.Errorf("custom-columns format specified but no custom columns given")
	}
	for part := range strings.SplitSeq(spec, ",") {
		head, path, ok := strings.Cut(part, ":")
		if !ok {
			return nil, nil, fmt.Errorf("unexpected custom-columns spec: %s, expected <header>:<json-path-expr>", part)
		}
		heads, paths = append(heads, head), append(paths, path)
	}
	return heads, paths, nil
}

// columnFile reads a file of two lines: the names, and the paths.
func columnFile(name string) (heads, paths []string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read custom-columns-file %s: %w", name, err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for _, into := range []*[]string{&heads, &paths} {
		if !lines.Scan() {
			return nil, nil, fmt.Errorf("invalid template, missing header line or spec line. Expected format is one line of space separated headers, one line of space separated column specs")
		}
		*into = strings.Fields(lines.Text())
	}
	if len(heads) != len(paths) {
		return nil, nil, fmt.Errorf("number of headers (%d) and field specifications (%d) don't match", len(heads), len(paths))
	}
	return heads, paths, lines.Err()
}

// print takes one item, or a list of them. The names come once.
func (c *columns) print(w io.Writer, v map[string]any) error {
	t := &table{least: c.widths, bare: c.bare}
	t.columns(plainCells(c.heads...)...)
	c.bare = true
	items, ok := v["items"].([]any)
	if !ok {
		items = []any{v}
	}
	for _, item := range items {
		row, err := c.row(item)
		if err != nil {
			return err
		}
		t.add(row...)
	}
	c.widths = t.widths()
	return t.print(w, terminal{})
}

func (c *columns) row(item any) ([]cell, error) {
	var out []cell
	for _, p := range c.paths {
		found, err := p.FindResults(item)
		if err != nil {
			return nil, err
		}
		var texts []string
		for _, values := range found {
			for _, v := range values {
				texts = append(texts, fmt.Sprint(v.Interface()))
			}
		}
		out = append(out, cell{text: textOrNone(strings.Join(texts, ","))})
	}
	return out, nil
}

// relaxedPath takes x.y, .x.y, {x.y} and {.x.y}.
var relaxedPath = regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`)

// parseRelaxedPath compiles a path as kubectl takes it for a column or an order.
func parseRelaxedPath(text string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("path").AllowMissingKeys(true)
	if text == "" {
		return p, p.Parse(text)
	}
	m := relaxedPath.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'")
	}
	return p, p.Parse("{." + m[1] + m[2] + "}")
}
