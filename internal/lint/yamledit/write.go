package yamledit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// style is how a file is written, as far as new lines must follow it.
type style struct {
	unit int // how much deeper a map in a map stands
	dash int // how much deeper a list in a map stands
	// open says that no line break stands at the end, where a literal needs one.
	open bool
}

// form is how a scalar or a flow collection is written.
type form struct {
	like, key yaml.Style // of the neighbours
	json      bool
}

// styleOf looks at the first map in a map, and the first list in a map.
func styleOf(docs []*yaml.Node) style {
	s := style{unit: -1, dash: -1}
	for _, d := range docs {
		s.look(d)
	}
	if s.unit <= 0 {
		s.unit = 2
	}
	if s.dash < 0 {
		s.dash = 0 // as Kubernetes' own tools write it
	}
	return s
}

func (s *style) look(n *yaml.Node) {
	if n.Style&yaml.FlowStyle != 0 || s.unit > 0 && s.dash >= 0 {
		return
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Style&yaml.FlowStyle == 0 && c.Line > n.Content[i-1].Line {
			deeper := c.Column - n.Content[i-1].Column
			switch {
			case c.Kind == yaml.MappingNode && s.unit < 0 && len(c.Content) > 0:
				s.unit = deeper
			case c.Kind == yaml.SequenceNode && s.dash < 0 && len(c.Content) > 0:
				s.dash = deeper
			}
		}
		s.look(c)
	}
}

// deeper is how much deeper a new map or list stands than its key, or than its dash.
func (s style) deeper(kind yaml.Kind, inItem bool) int {
	switch {
	case inItem:
		return 2
	case kind == yaml.SequenceNode:
		return s.dash
	}
	return s.unit
}

// block writes a value in lines.
func (s style) block(v any, indent int) []string {
	pad := strings.Repeat(" ", indent)
	var out []string
	switch v := v.(type) {
	case Map:
		for _, e := range v {
			out = append(out, s.under(pad+s.scalar(e.Key, form{})+":", e.Value, indent)...)
		}
	case []any:
		for _, e := range v {
			if inner, ok := e.(Map); ok && len(inner) > 0 {
				lines := s.block(inner, indent+2)
				lines[0] = pad + "- " + strings.TrimLeft(lines[0], " ")
				out = append(out, lines...)
				continue
			}
			out = append(out, s.under(pad+"-", e, indent)...)
		}
	}
	return out
}

// under writes a value behind its key or its dash.
func (s style) under(intro string, v any, indent int) []string {
	switch c := v.(type) {
	case Map:
		if len(c) > 0 {
			return append([]string{intro}, s.block(c, indent+s.unit)...)
		}
	case []any:
		if len(c) > 0 {
			deeper := s.dash
			if strings.HasSuffix(intro, "-") {
				deeper = 2
			}
			return append([]string{intro}, s.block(c, indent+deeper)...)
		}
	case string:
		if lines, ok := s.literal(intro, c, indent); ok {
			return lines
		}
	}
	return []string{intro + " " + s.flow(v, form{})}
}

// literal writes a text of several lines as such, where it can be.
func (s style) literal(intro, text string, indent int) ([]string, bool) {
	body := strings.TrimSuffix(text, "\n")
	if s.open && body != text || !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || strings.HasPrefix(body, " ") || !printable(strings.ReplaceAll(body, "\n", "")) {
		return nil, false
	}
	header := " |-"
	if body != text {
		header = " |"
	}
	out := []string{intro + header}
	for l := range strings.SplitSeq(body, "\n") {
		if l != "" {
			l = strings.Repeat(" ", indent+2) + l
		}
		out = append(out, l)
	}
	return out, true
}

// entry writes an entry of a flow collection.
func (s style) entry(a addition, f form) string {
	if a.kind != yaml.MappingNode {
		return s.flow(a.value, f)
	}
	return s.scalar(a.key, form{like: f.key, json: f.json}) + ": " + s.flow(a.value, form{like: f.key, json: f.json})
}

// flow writes a value in one line.
func (s style) flow(v any, f form) string {
	var parts []string
	switch v := v.(type) {
	case Map:
		for _, e := range v {
			parts = append(parts, s.scalar(e.Key, f)+": "+s.flow(e.Value, f))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, e := range v {
			parts = append(parts, s.flow(e, f))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return s.scalar(v, f)
}

// scalar writes a scalar so that it is read back as what it is, by parsers of YAML 1.1 and 1.2.
func (style) scalar(v any, f form) string {
	s, ok := v.(string)
	switch {
	case !ok:
		return plainScalar(v)
	case f.json:
		return quoteJSON(s)
	case f.like&yaml.SingleQuotedStyle != 0 && printable(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case f.like&yaml.DoubleQuotedStyle == 0 && isPlain(s):
		return s
	}
	return strconv.Quote(s)
}

func plainScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatFloat(v)
	}
	return ""
}

// formatFloat writes a number so that it stays one with a point.
func formatFloat(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == '\uFEFF' }) < 0
}

// plainWord is text that cannot be taken for anything else in a block and between brackets.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./=+~$()-]*( [A-Za-z0-9_./=+~$()-]+)*$`)

// boolean11 is what YAML 1.1 takes for a boolean.
var boolean11 = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

func isPlain(s string) bool {
	if !plainWord.MatchString(s) || boolean11.MatchString(s) {
		return false
	}
	var v any
	err := yaml.Unmarshal([]byte(s), &v)
	return err == nil && v == s
}
