package payload_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// published is what a vendor publishes about some requests of a story.
type published struct {
	Story, To, Within, File, At string
	Besides                     []string // fields that another place of the vendor's documents names
}

// TestRequestsAreAsVendorsPublish validates the requests of the stories against the vendors' own schemas, and finds fields that these do not have. They are
// not in this repository: testdata/schemas.yaml names where they are.
func TestRequestsAreAsVendorsPublish(t *testing.T) {
	dir := os.Getenv("TRUCE_SCHEMAS")
	if dir == "" {
		t.Skip("TRUCE_SCHEMAS names no directory with the repositories of testdata/schemas.yaml, which are the vendors'")
	}
	text, err := os.ReadFile("testdata/schemas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []published
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		t.Run(p.Story+p.To, func(t *testing.T) {
			schema := compileSchema(t, filepath.Join(dir, filepath.FromSlash(p.File)), p.At)
			bodies := p.bodies(t)
			if len(bodies) == 0 {
				t.Fatal("the story has no such request")
			}
			for _, body := range bodies {
				if err := schema.Validate(body); err != nil {
					t.Errorf("%#v", err)
				}
			}
			fields, ok := bodies[0].(map[string]any)
			if !ok {
				return // a list, of which the schema knows the elements
			}
			if fields["notPublished"] = "x"; schema.Validate(fields) == nil {
				t.Error("a field that is published nowhere is accepted: the schema says nothing")
			}
		})
	}
}

// bodies are those of the requests, or what is at a path within them.
func (p published) bodies(t *testing.T) (out []any) {
	t.Helper()
	story, err := txtar.ParseFile("testdata/" + p.Story + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for request := range strings.SplitSeq("\n"+string(story.Files[len(story.Files)-1].Data), "\nP") { // POST and PUT
		line, rest, _ := strings.Cut(request, "\n")
		_, address, _ := strings.Cut(line, " ")
		at, err := url.Parse(address)
		start := strings.IndexAny(rest, "{[")
		if err != nil || start < 0 || !strings.HasSuffix(at.Path, p.To) {
			continue
		}
		numbers, body := json.NewDecoder(strings.NewReader(rest[start:])), any(nil)
		numbers.UseNumber()
		if err := numbers.Decode(&body); err != nil {
			t.Fatal(err)
		}
		out = append(out, p.part(body))
	}
	return out
}

// part is what the schema is about.
func (p published) part(body any) any {
	for _, name := range strings.FieldsFunc(p.Within, func(r rune) bool { return r == '/' }) {
		switch of := body.(type) {
		case map[string]any:
			body = of[name]
		case []any:
			body = of[0]
		}
	}
	if fields, ok := body.(map[string]any); ok {
		for _, name := range p.Besides {
			delete(fields, name)
		}
	}
	return body
}

// compileSchema reads a schema within a file as JSON Schema, in which no object has fields that it does not name.
func compileSchema(t *testing.T, file, at string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(schemaFiles{at})
	compiled, err := c.Compile("file://" + (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath() + "#" + (&url.URL{Fragment: at}).EscapedFragment())
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// schemaFiles load schemas of JSON Schema, of OpenAPI 2 and 3, and of Google's discovery documents, to judge by
// the one at a place.
type schemaFiles struct{ at string }

// Load implements jsonschema.URLLoader.
func (l schemaFiles) Load(address string) (any, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.FromSlash(u.Path))
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	delete(doc, "$schema")
	delete(doc, "id")
	f := form{parts: map[string]bool{}}
	f.findParts(doc, false)
	delete(f.parts, "#"+l.at)
	f.asSchema(doc, false, "#")
	text, err = json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
}

// form makes JSON Schema of what the other forms have.
type form struct{ parts map[string]bool } // schemas by their references: each is one of several of one object

func (f form) findParts(v any, joined bool) {
	switch s := v.(type) {
	case []any:
		for _, one := range s {
			f.findParts(one, joined)
		}
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok && joined {
			f.parts[ref] = true
		}
		for name, below := range s {
			f.findParts(below, name == "allOf")
		}
	}
}

// asSchema changes a schema at a reference; part says that it is one of several of one object.
func (f form) asSchema(v any, part bool, at string) {
	if list, ok := v.([]any); ok {
		for _, one := range list {
			f.asSchema(one, part, at)
		}
		return
	}
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	convert(s)
	_, fields := s["properties"].(map[string]any)
	joined := s["allOf"] != nil || s["anyOf"] != nil || s["oneOf"] != nil
	if _, open := s["additionalProperties"]; !part && !f.parts[at] && !open && (fields || joined) {
		s["unevaluatedProperties"] = false
	}
	for name, below := range s {
		f.asSchema(below, name == "allOf" || joined && (name == "anyOf" || name == "oneOf"), at+"/"+name)
	}
}

// convert takes out, or rewrites, what JSON Schema says in another way.
func convert(s map[string]any) {
	for _, name := range []string{"pattern", "format", "exclusiveMinimum", "exclusiveMaximum", "required"} {
		switch s[name].(type) {
		case []any, map[string]any: // it is required as JSON Schema has it, or a field of that name
		default:
			delete(s, name)
		}
	}
	if tuple, ok := s["items"].([]any); ok {
		s["prefixItems"] = tuple
		delete(s, "items")
	}
	if kind, ok := s["type"].(string); ok && s["nullable"] == true {
		s["type"] = []any{kind, "null"}
	}
	if s["type"] == "any" {
		delete(s, "type")
	}
	if ref, ok := s["$ref"].(string); ok && !strings.ContainsAny(ref, "#/.") {
		s["$ref"] = "#/schemas/" + ref // of Google's documents
	}
}
