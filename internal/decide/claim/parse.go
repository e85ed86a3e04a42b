package claim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxCatalogue is what a ConfigMap can hold.
const maxCatalogue = 1 << 20

// lineError is an error in one line of a catalogue.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// withLine gives an error its line, unless it knows a better one.
func withLine(line int, err error) error {
	if known := (*lineError)(nil); err == nil || errors.As(err, &known) {
		return err
	}
	return &lineError{line, err}
}

// parseCatalogue reads a catalogue: a map with one key, claims, and a list of entries. Whatever it does not understand is an error of the form
// "file:line: what". Built-in entries have an empty file.
func parseCatalogue(file string, text []byte, builtin []Entry) ([]Entry, error) {
	entries, err := decodeCatalogue(text)
	if err == nil {
		err = checkEntries(entries, builtin)
	}
	if err == nil {
		return withFile(file, entries), nil
	}
	line := 1
	if known := (*lineError)(nil); errors.As(err, &known) {
		line, err = known.line, known.err
	}
	return nil, fmt.Errorf("%s:%d: %w", file, line, err)
}

func withFile(file string, entries []lineEntry) []Entry {
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		e.File = file
		out = append(out, e.Entry)
	}
	return out
}

// lineEntry is an entry and where it begins.
type lineEntry struct {
	Entry
	line int
}

func decodeCatalogue(text []byte) ([]lineEntry, error) {
	if len(text) > maxCatalogue {
		return nil, fmt.Errorf("%d bytes long, at most %d", len(text), maxCatalogue)
	}
	var file struct {
		Claims []Entry `yaml:"claims"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, plainYAML(err)
	}
	var second yaml.Node
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, withLine(second.Line, errors.New("a second YAML document; put all entries into one list"))
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, plainYAML(err)
	}
	lines := entryLines(&root)
	if len(lines) != len(file.Claims) {
		return nil, errors.New("claims: want a plain list, without aliases and merges")
	}
	out := make([]lineEntry, len(lines))
	for i, e := range file.Claims {
		out[i] = lineEntry{e, lines[i]}
	}
	return out, nil
}

func entryLines(root *yaml.Node) []int {
	if len(root.Content) == 0 {
		return nil
	}
	var out []int
	top := root.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value != "claims" {
			continue
		}
		for _, n := range top[i+1].Content {
			out = append(out, n.Line)
		}
	}
	return out
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	lineOf     = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)
)

// plainYAML takes the first fault out of the library's message, with its line.
func plainYAML(err error) error {
	if known := (*lineError)(nil); errors.As(err, &known) {
		return known
	}
	text := err.Error()
	if many := (*yaml.TypeError)(nil); errors.As(err, &many) && len(many.Errors) > 0 {
		text = many.Errors[0]
	}
	line := 1
	if m := lineOf.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	text = unknownKey.ReplaceAllString(strings.TrimPrefix(text, "yaml: "), "unknown key $1")
	return withLine(line, errors.New(text))
}

// checkEntries refuses entries that contradict themselves or each other.
func checkEntries(entries []lineEntry, builtin []Entry) error {
	seen, ids := map[string]int{}, map[string]bool{}
	for _, e := range builtin {
		ids[e.ID] = true
	}
	for _, e := range entries {
		if first, twice := seen[e.ID]; twice {
			return withLine(e.line, fmt.Errorf("%s stands already in line %d", e.ID, first))
		}
		seen[e.ID], ids[e.ID] = e.line, true
	}
	for _, e := range entries {
		if err := e.check(ids); err != nil {
			return withLine(e.line, fmt.Errorf("%s: %w", withDefault(e.ID, "an entry"), err))
		}
	}
	return nil
}

func withDefault(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

var validID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (e Entry) check(ids map[string]bool) error {
	if !validID.MatchString(e.ID) {
		return fmt.Errorf("id %q: want lower-case words with hyphens", e.ID)
	}
	if e.Off {
		return nil
	}
	if missing := e.missing(); len(missing) > 0 {
		return fmt.Errorf("%s: missing", strings.Join(missing, ", "))
	}
	switch e.Do {
	case Cede, Merge, Allow, Known:
	default:
		return fmt.Errorf("do: %q: want %s, %s, %s or %s", e.Do, Cede, Merge, Allow, Known)
	}
	for _, id := range e.Over {
		if !ids[id] {
			return fmt.Errorf("over: there is no entry %s", id)
		}
	}
	if err := e.Count.check(); err != nil {
		return err
	}
	for i, ev := range e.Evidence {
		if err := ev.check(e); err != nil {
			return fmt.Errorf("evidence %d: %w", i+1, err)
		}
	}
	return nil
}

func (e Entry) missing() (out []string) {
	for _, part := range []struct {
		name  string
		there bool
	}{
		{"who", e.Who != ""}, {"evidence", len(e.Evidence) > 0}, {"on", len(e.On) > 0}, {"paths", len(e.Paths) > 0}, {"text", e.Text != ""},
	} {
		if !part.there {
			out = append(out, part.name)
		}
	}
	return out
}

func (c *Count) check() error {
	switch {
	case c == nil:
		return nil
	case c.Zero != "" && c.Zero != Pause && c.Zero != Own:
		return fmt.Errorf("zero: %q: want %s or %s", c.Zero, Pause, Own)
	case c.Least < 0 || c.Most < 0 || c.Most > 0 && c.Most < c.Least:
		return fmt.Errorf("count: from %d to %d is no range", c.Least, c.Most)
	}
	return requirePlain(c.Min, c.Max, c.Fixed)
}

// requirePlain refuses paths that leave open which field they mean.
func requirePlain(all ...Path) error {
	for _, p := range all {
		if p.given() && p.plain == nil {
			return fmt.Errorf("path %q: here it must name one field, without * and list items", p)
		}
	}
	return nil
}

// forms lists which of the forms of evidence are used.
func (e Evidence) forms() (out []string) {
	for _, f := range []struct {
		name string
		used bool
	}{
		{"object", e.Object.given()}, {"owner", e.Owner.given()}, {"annotation", e.Mark != ""}, {"label", e.Label != ""},
		{"manager", e.Manager != ""}, {"field", e.Field.given()}, {"placeholder", e.Stand}, {"grown", e.Grown}, {"always", e.Always},
		{"webhook", e.Webhook != ""},
	} {
		if f.used {
			out = append(out, f.name)
		}
	}
	return out
}

func (e Evidence) check(of Entry) error {
	if f := e.forms(); len(f) != 1 {
		return fmt.Errorf("has %d forms %q; want one of object, owner, annotation, label, manager, field, placeholder, grown, always, webhook", len(f), f)
	}
	if e.Stand && len(of.Stand) == 0 {
		return errors.New("placeholder: the entry names no placeholders")
	}
	if e.Always && of.Do == Cede {
		return errors.New("always: a kind alone is no claim to a field that Git names; want allow, or better evidence")
	}
	if e.Operation != "" && e.Operation != "Apply" && e.Operation != "Update" {
		return fmt.Errorf("operation: %q: want Apply or Update", e.Operation)
	}
	switch of := e.forms()[0]; {
	case e.Value != "" && e.Mark == "" && e.Label == "":
		return fmt.Errorf("value: means nothing beside %s", of)
	case e.Operation+e.Sub != "" && e.Manager == "":
		return fmt.Errorf("operation, subresource: mean nothing beside %s", of)
	case len(e.In) > 0 && !e.Field.given():
		return fmt.Errorf("in: means nothing beside %s", of)
	case !e.byObject() && e.ofObject():
		return fmt.Errorf("versions, refers, names, namespace, items, to, except, when, acts, resting: mean nothing beside %s", of)
	}
	return cmp.Or(e.checkItems(of), e.checkObject())
}

func (e Evidence) checkItems(of Entry) error {
	if inPath := slices.ContainsFunc(of.Paths, Path.ofItems); inPath != (len(e.Items) > 0) {
		return fmt.Errorf("items: want them, and %s in a path, or neither", allItems)
	}
	return nil
}

func (e Evidence) ofObject() bool {
	return len(e.Versions)+len(e.Names)+len(e.Items)+len(e.When)+len(e.Acts)+len(e.Resting) > 0 || e.Refers.given() || e.Namespace || e.To.given() || e.Except.given()
}

func (e Evidence) checkObject() error {
	if !e.byObject() {
		return nil
	}
	ways := 0
	for _, used := range []bool{e.Refers.given(), len(e.Names) > 0, e.Namespace} {
		if used {
			ways++
		}
	}
	switch {
	case e.Object.open():
		return fmt.Errorf("object: %s: a claimant's kind must be named in full", e.Object)
	case len(e.Versions) == 0:
		return errors.New("versions: at least one of the object's API versions must be named")
	case ways != 1:
		return errors.New("want one of refers, names, namespace: how the object says whom it writes to")
	case len(e.Names) > 0 && (!e.To.given() || e.To.open()):
		return errors.New("to: names need the kind of what they name")
	}
	for _, c := range e.When {
		if err := requirePlain(c.Path); err != nil || len(c.In)+len(c.Not) == 0 {
			return errors.Join(err, errors.New("when: want a path, and in or not with values"))
		}
	}
	return requirePlain(e.Refers)
}
