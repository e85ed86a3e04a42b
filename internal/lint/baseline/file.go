package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/redact"
)

const (
	apiVersion = "audit.truce.dev/v1"
	kind       = "Baseline"
	maxFile    = 16 << 20 // bytes; a finding has some hundred
)

// fileHeader begins the file. The last line asks Argo CD to leave it out of a directory of manifests.
const fileHeader = `# Findings that are known here: truce audit --baseline shows them, and does not fail for them.
# truce audit --write-baseline replaces this file; an entry that nothing matches any more is said to be stale.
# +argocd:skip-file-rendering
`

// document is the file.
type document struct {
	APIVersion string  `yaml:"apiVersion"`
	Kind       string  `yaml:"kind"`
	Findings   []Entry `yaml:"findings"`
}

// Text is the file for a List.
func (l List) Text() ([]byte, error) {
	doc := document{APIVersion: apiVersion, Kind: kind, Findings: l.Entries}
	if doc.Findings == nil {
		doc.Findings = []Entry{}
	}
	var b bytes.Buffer
	b.WriteString(fileHeader)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("write the baseline: %w", err)
	}
	return b.Bytes(), nil
}

// ParseFile understands such a file. An error has the form "file:line: what is wrong".
func ParseFile(file string, text []byte) (List, error) {
	doc, line, err := parseDocument(text)
	if err != nil {
		return List{}, fmt.Errorf("%s:%d: %w", file, line, err)
	}
	l := List{Entries: doc.Findings}
	slices.SortFunc(l.Entries, Entry.compare)
	return l, nil
}

// parseDocument returns the document, or what is wrong and the line of it.
func parseDocument(text []byte) (document, int, error) {
	var doc document
	if len(text) > maxFile {
		return doc, 1, fmt.Errorf("%d bytes long, at most %d", len(text), maxFile)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return firstFault(err)
	}
	if len(root.Content) == 0 {
		return doc, 1, errors.New("empty; a baseline has apiVersion, kind and findings")
	}
	if n := aliased(&root); n != nil {
		return doc, n.Line, errors.New("an alias; a baseline is plain YAML")
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
		return firstFault(err)
	}
	var second yaml.Node
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return doc, max(1, second.Line), errors.New("a second YAML document; put all findings into one list")
	}
	return doc.checked(root.Content[0])
}

// aliased finds an alias: some of them make a small file a huge list.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n
	}
	for _, c := range n.Content {
		if found := aliased(c); found != nil {
			return found
		}
	}
	return nil
}

func (d document) checked(root *yaml.Node) (document, int, error) {
	if d.APIVersion != apiVersion || d.Kind != kind {
		return d, max(1, root.Line), fmt.Errorf("apiVersion %q and kind %q: want %s and %s", redact.MaskText(d.APIVersion), redact.MaskText(d.Kind), apiVersion, kind)
	}
	seen := map[Entry]bool{}
	for i, e := range d.Findings {
		line := entryLine(root, i)
		switch {
		case e.Rule == "":
			return d, line, errors.New("an entry without rule")
		case e.Message == "":
			return d, line, errors.New("an entry without message")
		case e.Times < 0:
			return d, line, fmt.Errorf("times: %d: want 1 or more", e.Times)
		case seen[e.once()]:
			return d, line, errors.New("the same entry twice; say how often with times")
		}
		seen[e.once()] = true
	}
	return d, 0, nil
}

// entryLine is where an entry begins.
func entryLine(root *yaml.Node, entry int) int {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if list := root.Content[i+1]; root.Content[i].Value == "findings" && entry < len(list.Content) {
			return list.Content[entry].Line
		}
	}
	return 1
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	goType     = regexp.MustCompile(` into (\[\])?baseline\.\S+`)
	lineNumber = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)
)

// firstFault takes the first fault and its line out of the library's message.
func firstFault(err error) (document, int, error) {
	text := err.Error()
	if many := (*yaml.TypeError)(nil); errors.As(err, &many) && len(many.Errors) > 0 {
		text = many.Errors[0]
	}
	line := 1
	if m := lineNumber.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = max(1, n)
		}
	}
	text = goType.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), " as an entry")
	return document{}, line, errors.New(redact.MaskText(unknownKey.ReplaceAllString(text, "unknown key $1")))
}
