package desired

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render"
)

// SubstitutedOrigins is FieldOrigins that knows the app's variables, with those of ConfigMaps and Secrets; nil where they could not be read.
func SubstitutedOrigins(files fs.FS, a app.App, o Object, set *variables.Set) func(field.Path) []Place {
	return fieldOrigins(files, a, o, knownVariables{app: a, set: set, all: set != nil})
}

// knownVariables are an app's variables.
type knownVariables struct {
	app app.App
	set *variables.Set
	all bool // also those of ConfigMaps and Secrets
}

// ownVariables are those that the custom resource has itself. They win over all others.
func ownVariables(a app.App) knownVariables {
	set, err := variables.CollectSet(variables.Spec{Values: a.PostBuild.Values}, nil)
	if err != nil {
		return knownVariables{app: a}
	}
	return knownVariables{app: a, set: set, all: len(a.PostBuild.From) == 0 && a.PostBuild.IsSet()}
}

// expression is a variable in a text, with its default. Other expressions are not followed.
var expression = regexp.MustCompile(`\$\{([A-Za-z_]\w*)(:?[=-]([^{}$]*))?\}`)

// substituted says which variables the text at a place has, if they make the wanted value of it.
func (t *trail) substituted(p *Place, text string) {
	if p.Exact || !t.there || strings.Contains(text, "$$") {
		return
	}
	var from []string
	complete := true
	out := expression.ReplaceAllStringFunc(text, func(found string) string {
		value, by := t.variables.value(expression.FindStringSubmatch(found))
		complete = complete && by != ""
		if by != "" && !slices.Contains(from, by) {
			from = append(from, by)
		}
		return value
	})
	if complete && len(from) > 0 && t.reads(out) {
		p.Variable, p.Exact = strings.Join(from, ", "), true
	}
}

// value returns the value of an expression and where it comes from; empty for not known.
func (k knownVariables) value(found []string) (value, by string) {
	name, byDefault := found[1], found[2] != ""
	var v variables.Variable
	there := false
	if k.set != nil {
		v, there = k.set.Variables[name]
	}
	switch {
	case there && (v.Value != "" || !strings.HasPrefix(found[2], ":")):
	case byDefault && (there || k.all):
		return found[3], fmt.Sprintf("the default of ${%s}", name)
	default:
		return "", ""
	}
	if v.By.Name == "" {
		return v.Value, fmt.Sprintf("spec.postBuild.substitute.%s of %s", name, k.app.Key)
	}
	return v.Value, fmt.Sprintf("key %s of %s %s/%s", name, v.By.Kind, k.app.Key.Namespace, v.By.Name)
}

// reads reports whether a text is the wanted value, as it is or as YAML reads it.
func (t *trail) reads(text string) bool {
	if field.EqualValues(text, t.value) {
		return true
	}
	var n yaml.Node
	if yaml.Unmarshal([]byte(text), &n) != nil || len(n.Content) != 1 {
		return false
	}
	value, err := render.DecodeValue("", n.Content[0])
	return err == nil && field.EqualValues(value, t.value)
}
