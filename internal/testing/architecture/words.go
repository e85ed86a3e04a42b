package architecture

import (
	"go/ast"
	"go/token"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// drawers are names of packages that say nothing, in which everything ends.
var drawers = []string{
	"util", "utils", "common", "commons", "helper", "helpers", "misc", "base", "shared", "types",
}

// noDrawers: code has a home, or it belongs to its only caller.
func noDrawers(t tree, report report) {
	for _, p := range t.pkgs {
		if name := path.Base(p.dir); slices.Contains(drawers, name) {
			report(p.dir, "%q says nothing; name the package for what it answers", name)
		}
	}
}

// plaqueLines are what a package comment says after its question.
var plaqueLines = []string{"In:", "Out:", "Promise:", "Not here:"}

// everyPackageSaysWhatItIsFor: each has a comment in the fixed form; a command may use its own words.
func everyPackageSaysWhatItIsFor(t tree, report report) {
	for _, p := range t.pkgs {
		doc, name := p.comment()
		switch {
		case strings.TrimSpace(doc) == "":
			report(p.dir, "has no package comment; say which question it answers, then In:, Out:, Promise:, Not here:")
		case strings.Contains(doc, "Copyright") || strings.Contains(doc, "Licensed under"):
			report(p.dir, "has a licence where its comment should be; leave that to LICENSE")
		case name == "main":
		case !strings.HasPrefix(doc, "Package "+name+" "):
			report(p.dir, "has a comment that does not begin with %q; say which question it answers", "Package "+name)
		default:
			for _, part := range missing(doc) {
				report(p.dir, "has a comment without %q; the five parts are the question, In:, Out:, Promise:, Not here:", part)
			}
		}
	}
}

func missing(doc string) (parts []string) {
	if first, _, _ := strings.Cut(doc, "\n\n"); !strings.Contains(first, "?") {
		parts = append(parts, "?")
	}
	for _, part := range plaqueLines {
		if !strings.Contains(doc, "\n"+part+" ") {
			parts = append(parts, part)
		}
	}
	return parts
}

// comment returns the package's comment and its name. That of a test file counts when there is nothing but tests.
func (p *pkg) comment() (doc, name string) {
	onlyTests := !slices.ContainsFunc(p.files, func(f *file) bool { return !f.test })
	for _, f := range p.files {
		if f.test && !onlyTests {
			continue
		}
		name = strings.TrimSuffix(f.syntax.Name.Name, "_test")
		if f.syntax.Doc != nil {
			doc += f.syntax.Doc.Text()
		}
	}
	return doc, name
}

// clear are methods whose meaning an interface of the standard library fixes.
var clear = []string{"Error", "Unwrap", "Is", "As", "Len", "Less", "Swap"}

// everyNameIsDocumented: what others may use, they can read about.
func everyNameIsDocumented(t tree, report report) {
	for p, f := range t.written() {
		for _, decl := range f.syntax.Decls {
			for _, id := range undocumented(decl) {
				report(f.at(id), "%s.%s has no comment; say its meaning, its units and its errors", path.Base(p.dir), id.Name)
			}
		}
	}
}

func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && public(d) && (d.Recv == nil || !slices.Contains(clear, d.Name.Name)) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			return nil
		}
		return undocumentedSpecs(d.Specs)
	}
	return nil
}

func undocumentedSpecs(specs []ast.Spec) (ids []*ast.Ident) {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Name.IsExported() {
				ids = append(ids, s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
				ids = append(ids, s.Names[0])
			}
		}
	}
	return ids
}

// public reports whether others can call a function: it and its receiver's type are exported.
func public(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return f.Name.IsExported()
	}
	for n := range ast.Preorder(f.Recv.List[0].Type) {
		if id, ok := n.(*ast.Ident); ok {
			return f.Name.IsExported() && id.IsExported()
		}
	}
	return false
}

// saidElsewhere are other tools' words for desired and live.
var saidElsewhere = []string{"existing", "actual"}

// oneWordPerThing keeps other tools' words in dialect, where they are translated.
func oneWordPerThing(t tree, report report) {
	for p, f := range t.written() {
		if name, ok := internalName(p.dir); !ok || folderOf(name) == "dialect" {
			continue
		}
		for id := range f.ownIdents() {
			if word := foreign(id.Name); word != "" {
				report(f.at(id), "%s: %q is another tool's word; say desired, live or settled (docs/vocabulary.md)", id.Name, word)
			}
		}
	}
}

// ownIdents yields the names in a file except those that belong to another type or package.
func (f *file) ownIdents() iter.Seq[*ast.Ident] {
	return func(yield func(*ast.Ident) bool) {
		selected := map[*ast.Ident]bool{}
		for n := range ast.Preorder(f.syntax) {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				selected[sel.Sel] = true
			}
			if id, ok := n.(*ast.Ident); ok && !selected[id] && !yield(id) {
				return
			}
		}
	}
}

// foreign returns the word in a camel-case name that is not ours.
func foreign(name string) string {
	for word := range strings.FieldsSeq(spaced(name)) {
		if slices.Contains(saidElsewhere, word) {
			return word
		}
	}
	return ""
}

// spaced turns camelCase into lower-case words.
func spaced(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) || r == '_' {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// idioms are words for which the field has plainer ones (docs/style.md), and citations of a page that readers do not have.
var idioms = regexp.MustCompile(`(?i)\b(?:(tells?|telling|told|nobody|somebody|whoever|anew)\b|design §)`)

// plainWords keeps idioms out of comments, and out of the texts that a program prints.
func plainWords(t tree, report report) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			for _, word := range f.idioms() {
				report(f.at(word.at), "a comment has %q; say who does what: reports, prints, no user, the caller, again", word.text)
			}
		}
	}
	for _, f := range t.written() {
		for _, word := range f.idiomsOfTexts() {
			report(f.at(word.at), "a text has %q; say who does what: reports, prints, no user, the caller, again", word.text)
		}
	}
}

// idiom is one of those words, and its comment or literal.
type idiom struct {
	at   ast.Node
	text string
}

func (f *file) idioms() (found []idiom) {
	for _, group := range f.syntax.Comments {
		for _, line := range group.List {
			if word := idioms.FindString(line.Text); word != "" && !f.generated {
				found = append(found, idiom{line, word})
			}
		}
	}
	return found
}

// idiomsOfTexts returns the idioms of string literals. A regular expression is no text.
func (f *file) idiomsOfTexts() (found []idiom) {
	for n := range ast.Preorder(f.syntax) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || strings.Contains(lit.Value, `\b`) {
			continue
		}
		if word := idiomsInTexts.FindString(lit.Value); word != "" {
			found = append(found, idiom{lit, word})
		}
	}
	return found
}

// idiomsInTexts are idioms, and the one that has most often come back into messages.
var idiomsInTexts = regexp.MustCompile(`(?i)\b(?:tells?|telling|told|nobody|somebody|whoever|anew|lets? go of)\b`)

var excuse = regexp.MustCompile("^[\"`](?i:failed|unable|error)\\b")

// errorsSayWhat: operation, subject, cause; that it failed is known.
func errorsSayWhat(t tree, report report) {
	for _, f := range t.written() {
		for n := range ast.Preorder(f.syntax) {
			if lit := errorText(f, n); lit != nil && excuse.MatchString(lit.Value) {
				report(f.at(lit), "error text %s; begin with the operation and its subject: `render overlays/prod: …`", lit.Value)
			}
		}
	}
}

// errorText returns the literal text of a call that makes an error.
func errorText(f *file, n ast.Node) *ast.BasicLit {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	x, ok := sel.X.(*ast.Ident)
	lit, literal := call.Args[0].(*ast.BasicLit)
	makes := ok && (x.Name == f.called("fmt") && sel.Sel.Name == "Errorf" || x.Name == f.called("errors") && sel.Sel.Name == "New")
	if !makes || !literal {
		return nil
	}
	return lit
}
