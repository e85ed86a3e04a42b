package yamledit_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/truce-gitops/truce/internal/lint/yamledit"
)

// printer writes a random tree in a random style, with comments that bear a number each.
type printer struct {
	t        *rapid.T
	b        strings.Builder
	eol      string
	unit     int
	dash     int
	comments int
	blocks   int  // literals written
	keeps    bool // the last thing written is a literal to which empty lines would belong
}

// node is a random tree: a map, a list or a scalar, and what it is as Go data.
type node struct {
	keys []string
	kids []*node
	kind byte // m, l, s
	val  any
}

func randomNode(t *rapid.T, depth int) *node {
	kind := rapid.SampledFrom([]byte("mmlss")).Draw(t, "kind")
	if depth == 0 {
		kind = rapid.SampledFrom([]byte("ml")).Draw(t, "top")
	} else if depth > 3 {
		kind = 's'
	}
	n := &node{kind: kind}
	if kind == 's' {
		n.val = rapid.SampledFrom([]any{nil, 1, true, "x", "it's", "two words", "a: b", "# no", "", "yes", "5", " lead", "ends\n", "one\ntwo", "ä€😀", "a\n\nb\n\n", 1.5}).Draw(t, "scalar")
		return n
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "size") {
		if kind == 'm' {
			n.keys = append(n.keys, rapid.SampledFrom([]string{"replicas", "spec", "a b", "é", "on", "k"}).Draw(t, "key")+strconv.Itoa(i))
		}
		n.kids = append(n.kids, randomNode(t, depth+1))
	}
	return n
}

func (p *printer) chance(oneIn int) bool { return rapid.IntRange(1, oneIn).Draw(p.t, "chance") == 1 }

func (p *printer) comment() string {
	p.comments++
	return fmt.Sprintf("# c%d. 'it \"is: {x", p.comments)
}

func (p *printer) endLine() {
	if p.chance(5) {
		p.b.WriteString(" " + p.comment())
	}
	p.b.WriteString(p.eol)
}

func (p *printer) above(indent int) {
	for p.chance(6) {
		if p.chance(2) && !p.keeps {
			p.b.WriteString(p.eol)
		} else {
			p.b.WriteString(strings.Repeat(" ", indent) + p.comment() + p.eol)
			p.keeps = false
		}
	}
}

// block writes a tree behind what introduces it: a key, a dash or nothing.
func (p *printer) block(n *node, indent int, intro string, inItem bool) {
	if len(n.kids) == 0 || p.chance(6) {
		text, isBlock := p.inline(n, indent)
		p.keeps = isBlock && strings.HasPrefix(text, "|+")
		if text != "" && intro != "" {
			text = " " + text
		}
		p.b.WriteString(intro + text)
		if !isBlock {
			p.endLine()
		}
		return
	}
	compact := inItem && p.chance(2)
	if compact {
		p.b.WriteString(intro + " ")
	} else if intro != "" {
		p.b.WriteString(intro)
		p.endLine()
	}
	for i, kid := range n.kids {
		if i > 0 || !compact {
			p.above(indent)
			p.b.WriteString(strings.Repeat(" ", indent))
		}
		if n.kind == 'm' {
			deeper := p.unit
			if kid.kind == 'l' {
				deeper = p.dash
			}
			p.block(kid, indent+deeper, scalarText(p, n.keys[i])+":", false)
		} else {
			p.block(kid, indent+2, "-", true)
		}
	}
}

// inline writes a scalar, or a tree in flow style.
func (p *printer) inline(n *node, indent int) (string, bool) {
	s, isText := n.val.(string)
	if n.kind == 's' && isText && !strings.HasPrefix(s, " ") && strings.TrimSpace(s) != "" && p.chance(2) {
		p.blocks++
		body := strings.TrimRight(s, "\n")
		header := map[int]string{0: "|-", 1: "|", 2: "|+"}[len(s)-len(body)]
		indent = max(indent, 1)
		if p.chance(4) {
			header += " " + p.comment()
		}
		for l := range strings.SplitSeq(body, "\n") {
			header += p.eol
			if l != "" {
				header += strings.Repeat(" ", indent) + l
			}
		}
		header += strings.Repeat(p.eol, max(1, len(s)-len(body)))
		return header, true
	}
	return p.flow(n), false
}

func (p *printer) flow(n *node) string {
	if n.kind == 's' {
		return scalarText(p, n.val)
	}
	var parts []string
	for i, kid := range n.kids {
		text := p.flow(kid)
		if n.kind == 'm' {
			text = scalarText(p, n.keys[i]) + ": " + text
		} else if text == "" { // between commas nothing is no item
			text = "~"
		}
		parts = append(parts, text)
	}
	sep, open, shut := rapid.SampledFrom([]string{", ", " , ", ",", "," + p.eol + "        ", ", " + p.comment() + p.eol + "         "}).Draw(p.t, "separator"), "", ""
	if p.chance(3) {
		open, shut = " ", " "
	} else if p.chance(3) {
		open, shut = p.eol+"         ", p.eol+"        "
	}
	if len(parts) > 0 && p.chance(5) {
		shut = "," + shut
	}
	if n.kind == 'm' {
		return "{" + open + strings.Join(parts, sep) + shut + "}"
	}
	return "[" + open + strings.Join(parts, sep) + shut + "]"
}

func scalarText(p *printer, v any) string {
	s, isText := v.(string)
	switch {
	case v == nil:
		return rapid.SampledFrom([]string{"~", "null", ""}).Draw(p.t, "null")
	case !isText:
		return fmt.Sprint(v)
	case p.chance(3) && !strings.Contains(s, "\n"):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case p.chance(3) || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789 éä€😀'") != "" || s == "" || s == "yes" || s == "5" || s[0] == ' ':
		return strconv.Quote(s)
	}
	return s
}

// data is what a parser must find.
func (n *node) data() any {
	switch n.kind {
	case 'm':
		m := map[string]any{}
		for i, k := range n.keys {
			m[k] = n.kids[i].data()
		}
		return m
	case 'l':
		l := []any{}
		for _, kid := range n.kids {
			l = append(l, kid.data())
		}
		return l
	}
	return n.val
}

// paths lists all that can be edited.
func (n *node) paths(at yamledit.Path, into *[]yamledit.Path) {
	for i, kid := range n.kids {
		step := yamledit.ItemStep(i)
		if n.kind == 'm' {
			step = yamledit.KeyStep(n.keys[i])
		}
		below := append(slices.Clone(at), step)
		*into = append(*into, below)
		kid.paths(below, into)
	}
}

func (n *node) at(p yamledit.Path) *node {
	for _, s := range p {
		for i, kid := range n.kids {
			if n.kind == 'm' && s == yamledit.KeyStep(n.keys[i]) || n.kind == 'l' && s == yamledit.ItemStep(i) {
				n = kid
				break
			}
		}
	}
	return n
}

func (n *node) without(p yamledit.Path, left yamledit.WhenEmpty) bool {
	parent := n.at(p[:len(p)-1])
	for i := range parent.kids {
		if parent.kind == 'm' && p[len(p)-1] == yamledit.KeyStep(parent.keys[i]) || parent.kind == 'l' && p[len(p)-1] == yamledit.ItemStep(i) {
			parent.kids = slices.Delete(parent.kids, i, i+1)
			if parent.kind == 'm' {
				parent.keys = slices.Delete(parent.keys, i, i+1)
			}
			break
		}
	}
	if len(parent.kids) == 0 && left == yamledit.RemoveEmpty && len(p) > 1 {
		return n.without(p[:len(p)-1], left)
	}
	return true
}

// change picks an edit, and makes it on the tree.
func change(t *rapid.T, n *node) yamledit.Edit {
	var all []yamledit.Path
	n.paths(nil, &all)
	all = append(all, nil)
	e := yamledit.Edit{Path: rapid.SampledFrom(all).Draw(t, "path"), WhenEmpty: rapid.SampledFrom([]yamledit.WhenEmpty{yamledit.KeepEmpty, yamledit.RemoveEmpty}).Draw(t, "left")}
	value := rapid.SampledFrom([]any{"x", 7, "a: b", "l1\nl2\n", yamledit.Map{{Key: "k", Value: []any{"v"}}}}).Draw(t, "value")
	at := n.at(e.Path)
	_, isMap := value.(yamledit.Map)
	switch {
	case at.kind == 'm' && rapid.Bool().Draw(t, "add"):
		e.Action, e.Path, e.Value = yamledit.Add, append(slices.Clone(e.Path), yamledit.KeyStep("new")), value
		at.keys, at.kids = append(at.keys, "new"), append(at.kids, &node{kind: 's', val: plain(value)})
	case at.kind == 'l' && rapid.Bool().Draw(t, "append"):
		e.Action, e.Value = yamledit.Append, value
		at.kids = append(at.kids, &node{kind: 's', val: plain(value)})
	case at.kind == 's' && !isMap && rapid.Bool().Draw(t, "set"):
		e.Action, e.Value = yamledit.Set, value
		at.val = value
	case len(e.Path) > 0:
		e.Action = yamledit.Remove
		n.without(e.Path, e.WhenEmpty)
	default:
		e.Action, e.Path = yamledit.Remove, nil
		n.kids, n.keys = nil, nil
	}
	return e
}

func plain(v any) any {
	if _, ok := v.(yamledit.Map); ok {
		return map[string]any{"k": []any{"v"}}
	}
	return v
}

func TestRandomFilesSayExactlyWhatWasAskedFor(t *testing.T) {
	files, equal, refused, oneLine := 0, 0, 0, 0
	var reasons []string
	rapid.Check(t, func(t *rapid.T) {
		p := &printer{t: t, eol: rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "eol"), unit: rapid.IntRange(2, 4).Draw(t, "unit")}
		p.dash = rapid.SampledFrom([]int{0, 2}).Draw(t, "dash")
		n := randomNode(t, 0)
		p.above(0)
		p.block(n, 0, "", false)
		in := p.b.String()
		if cut := strings.TrimSuffix(in, p.eol); p.chance(5) && says(t, cut, n.data()) { // a literal at the end needs its newline
			in = cut
		}
		if !says(t, in, n.data()) {
			t.Fatalf("the printer wrote something else than it was to: %q", in)
		}
		files++
		e := change(t, n)
		out, err := yamledit.ApplyEdits("a.yaml", []byte(in), e)
		if errors.Is(err, yamledit.ErrForm) {
			refused++
			reasons = append(reasons, fmt.Sprintf("refused %s %s %v: %v\n%s", e.Action, e.Path, e.Value, err, in))
			return
		}
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", e.Action, e.Path, err, in)
		}
		if !says(t, string(out), n.data()) {
			t.Fatalf("%s %s\n%s\n--- became\n%s", e.Action, e.Path, in, out)
		}
		if lost := p.lost(string(out)); len(lost) > 0 && e.Action != yamledit.Remove && !strings.ContainsAny(in, "{[|") {
			t.Fatalf("%s %s lost %v\n%s\n--- became\n%s", e.Action, e.Path, lost, in, out)
		}
		equal++
		if gone, come := changedLines(in, string(out)); gone <= 1 && come <= 1 {
			oneLine++
		} else if e.Action == yamledit.Add && gone > 1 && !strings.ContainsAny(in, "{[") {
			t.Fatalf("%d lines changed for an addition:\n%s\n--- became\n%s", gone, in, out)
		}
	})
	t.Logf("%d random files: %d equal to the intended tree, %d refused, %d differ by one line", files, equal, refused, oneLine)
	if refused > 2+files/50 { // a few of few are chance
		t.Errorf("%d of %d refused: %s", refused, files, strings.Join(reasons, "\n"))
	}
}

// lost lists the comments that are not there any more.
func (p *printer) lost(out string) []int {
	var lost []int
	for i := 1; i <= p.comments; i++ {
		if !strings.Contains(out, fmt.Sprintf("# c%d.", i)) {
			lost = append(lost, i)
		}
	}
	return lost
}

func says(t *rapid.T, text string, want any) bool {
	var got any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Logf("%v\n%s", err, text)
		return false
	}
	return fmt.Sprintf("%#v", got) == fmt.Sprintf("%#v", want)
}

// changedLines counts what is between the equal lines at the start and at the end.
func changedLines(a, b string) (gone, come int) {
	old, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	return len(old), len(now)
}
