// Package substitute answers: what do the objects of a build say once their variables are replaced?
//
// In: what builds the objects, and a request with the variables' values.
// Out: the same objects with ${var} replaced as Flux does, and which of their fields hold what came from a Secret.
// Promise: an object stays one object, whatever a value holds; a variable without value and default is an error that names it, the object
// and the line; no value is in an error.
// Not here: reading ConfigMaps and Secrets (values), limits on time and memory, which take a process of its own (worker).
package substitute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	yamlv2 "go.yaml.in/yaml/v2"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render"
)

// Builder builds the objects, in a process that only builds.
type Builder interface {
	render.Renderer
	// Spent reports whether a build has left something behind in the process, so that it must not build again.
	Spent() bool
}

// Renderer replaces the variables in what Builder builds.
type Renderer struct {
	Builder
}

// Render implements render.Renderer.
func (s Renderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	res, err := s.Builder.Render(ctx, r)
	if err != nil || r.Variables == nil {
		return res, err
	}
	if err := checkNames(r.Variables.Variables); err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	for i, o := range res.Objects {
		if res.Objects[i], err = replaceVariables(o, *r.Variables); err != nil {
			return render.Result{}, fmt.Errorf("render %s: %w", r.Path, located(r, o, err))
		}
	}
	return res, nil
}

// variableName is the form of names, as Flux demands it of every variable, used or not.
var variableName = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

func checkNames(set map[string]variables.Variable) error {
	var wrong []string
	for name := range set {
		if !variableName.MatchString(name) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("'%s' var name is invalid, must match '%s'; rename the key in postBuild.substitute, or in the ConfigMap or Secret of postBuild.substituteFrom",
		wrong[0], variableName)
}

// disabledKey is the annotation or label that keeps an object as it is.
const disabledKey = "kustomize.toolkit.fluxcd.io/substitute"

func isDisabled(o object.Object) bool {
	label, _ := o.Label(disabledKey)
	annotation, _ := o.Annotation(disabledKey)
	return label == "disabled" || annotation == "disabled"
}

// missingError is a variable without a value and without a default.
type missingError struct {
	name string
	id   object.ID
}

func (e *missingError) Error() string {
	return fmt.Sprintf("variable not set (strict mode): %q in %s: set it in postBuild, give it a default as in ${%s:=value}, or write $${%s} for the text itself",
		e.name, e.id, e.name, e.name)
}

// replaceVariables replaces the variables of one object. The object is written as YAML, changed as text and read again, as Flux does: a value
// becomes a number, a boolean or a list where it reads as one.
func replaceVariables(o render.Object, s variables.Set) (render.Object, error) {
	if isDisabled(o.Data) {
		return o, nil
	}
	text, err := yaml.Marshal(o.Data)
	if err != nil {
		return o, err
	}
	if !bytes.ContainsRune(text, '$') {
		return o, nil
	}
	d := document{text: string(text), id: o.Data.ShownID(), unknown: map[string]string{}, keep: s.Unknown == variables.KeepUnknown}
	values, placeholders, secret := map[string]string{}, map[string]string{}, false
	for name, v := range s.Variables {
		values[name], placeholders[name] = v.Value, v.Value
		if v.From == variables.FromSecret {
			secret = true
			placeholders[name] = placeholder(v.Value)
		}
	}
	data, err := d.object(values)
	if err != nil {
		if d.keep {
			return o, nil // with values of the cluster it may well be an object
		}
		return o, err
	}
	out := o
	out.Data = data
	if secret && !redact.IsSecret(data.ID()) {
		out.Sensitive = append(slices.Clip(o.Sensitive), d.sensitive(data, placeholders)...)
	}
	return out, nil
}

// document is an object as the text in which variables are replaced.
type document struct {
	text    string
	id      object.ID
	keep    bool              // variables without a value stay as they are
	unknown map[string]string // of them, those that were met
}

// object is the object that comes of the text with some values.
func (d document) object(values map[string]string) (object.Object, error) {
	text, err := d.replace(values)
	if err != nil {
		return nil, err
	}
	return decodeObject(text, d.id)
}

// replace evaluates the expressions. Where variables without a value are kept, it is tried again with each of them standing for itself.
func (d document) replace(values map[string]string) (string, error) {
	const most = 1_000
	for range most {
		text, missing, err := evaluate(d.text, func(name string) (string, bool) {
			if v, ok := values[name]; ok {
				return v, true
			}
			v, ok := d.unknown[name]
			return v, ok
		})
		switch {
		case err == nil:
			return text, nil
		case missing == "":
			return "", fmt.Errorf("%s: variable substitution failed: %w", d.id, err)
		case !d.keep:
			return "", &missingError{missing, d.id}
		}
		d.unknown[missing] = "${" + missing + "}"
	}
	return "", fmt.Errorf("%s: more than %d variables have no value: %w", d.id, most, render.ErrLimit)
}

// evaluate replaces the expressions of a text. If it fails for want of a variable, missing is its name.
func evaluate(text string, lookup func(string) (string, bool)) (out, missing string, err error) {
	defer func() {
		if p := recover(); p != nil { // a position or length beyond what the library expects
			out, err = "", errors.New("an expression asks for an impossible part of a value")
		}
	}()
	out, err = envsubst.Eval(text, func(name string) (string, bool) {
		v, ok := lookup(name)
		missing = ""
		if !ok {
			missing = name // an error right after this is about it; a default is none
		}
		return v, ok
	})
	return out, missing, err
}

// decodeObject reads the text after the replacement, by the rules by which Flux reads it. What the parser quotes may be a value.
func decodeObject(text string, id object.ID) (object.Object, error) {
	if err := isOneDocument(text); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: after the variables are replaced it is no YAML: %s", id, redact.WithoutQuoted(err.Error()))
	}
	var o map[string]any
	if err := kjson.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("%s: after the variables are replaced it is no object", id)
	}
	out := object.Object(o)
	if out.APIVersion() == "" || out.GVK().Kind == "" || out.Name() == "" && !out.IsGenerated() {
		return nil, fmt.Errorf("%s: after the variables are replaced it has no apiVersion, kind or name", id)
	}
	return out, nil
}

// isOneDocument refuses a value that ends the object and begins another: of several documents the parser would read the first alone.
func isOneDocument(text string) error {
	d := yamlv2.NewDecoder(strings.NewReader(text))
	for n := range 2 {
		var v yamlv2.MapSlice
		err := d.Decode(&v)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && n == 0:
			return errors.New("after the variables are replaced it is no YAML: " + redact.WithoutQuoted(err.Error()))
		case err != nil:
			return errSeveral
		}
	}
	return errSeveral
}

var errSeveral = errors.New("a variable's value begins another document, and a value may only be a part of one")

// located adds the line of the variable where the file has it, and else that of the object.
func located(r render.Request, o render.Object, err error) error {
	if o.File == "" {
		return err
	}
	at := &render.Error{File: o.File, Line: o.Line, Err: err}
	var missing *missingError
	if !errors.As(err, &missing) {
		return at
	}
	data, readErr := render.ReadFile(r.Files, o.File, r.Limits.OrDefault().FileBytes)
	if readErr != nil {
		return at
	}
	use := regexp.MustCompile(`\$\{#?` + regexp.QuoteMeta(missing.name) + `(\W|$)`)
	number := 0
	for line := range bytes.Lines(data) {
		if number++; number >= o.Line && use.Match(line) {
			at.Line = number
			break
		}
	}
	return at
}
