// Package variables answers: which variables are replaced in an app's objects, and with what?
//
// In: what the app's custom resource says of variables, and the data of the ConfigMaps and Secrets that it names.
// Out: a Spec, and with the data a Set: the value of each variable, and whether it comes from a Secret.
// Promise: pure; the same data gives the same Set.
// Not here: reading the data (render/values), replacing variables (render/substitute).
package variables

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Spec says which variables are replaced in an app's objects after the build. The zero value replaces none.
type Spec struct {
	// Values are the variables of the custom resource itself. They win over those of From.
	Values map[string]string
	// From are ConfigMaps and Secrets of the app's namespace whose keys are variables. The later ones win.
	From []Reference
	// When says whether expressions are evaluated though there is no variable at all.
	When Time
}

// Reference names a ConfigMap or Secret.
type Reference struct {
	Kind, Name string
	Presence   Presence
}

// Presence says whether something that is named must be there.
type Presence string

// Time says when expressions are evaluated.
type Time string

// The values of Presence and Time.
const (
	Required Presence = ""
	Optional Presence = "optional"

	WithVariables Time = ""
	Always        Time = "always"
)

// IsSet reports whether anything may be replaced.
func (s Spec) IsSet() bool { return len(s.Values) > 0 || len(s.From) > 0 || s.When == Always }

// Set says what variables stand for in the objects of a build.
type Set struct {
	// Variables are the values, by name.
	Variables map[string]Variable
	// Unknown says what becomes of a variable without a value and without a default.
	Unknown Unknown `json:",omitempty"`
	// SecretVersions are the UID and resourceVersion of each Secret that has values, in the order of Spec.From. A render does not depend on them.
	SecretVersions []string `json:"-"`
}

// Variable is the value of a variable.
type Variable struct {
	Value string
	// From is where the value comes from; a value from a Secret is masked wherever it ends up.
	From Origin `json:",omitempty"`
	// By is the ConfigMap or Secret that has the value; its zero value is the app's custom resource. A render does not depend on it.
	By Reference `json:"-"`
}

// Origin is where a value comes from.
type Origin string

// Unknown says what becomes of a variable that has no value.
type Unknown string

// The values of Origin and Unknown.
const (
	FromSpec   Origin = ""       // the app's custom resource, or a ConfigMap
	FromSecret Origin = "Secret" // a Secret

	RefuseUnknown Unknown = ""     // the build fails
	KeepUnknown   Unknown = "keep" // its expression stays as it is written
)

// CollectSet collects the variables of an app; read returns those of a ConfigMap or Secret. It returns nil where nothing is to be replaced.
// As in Flux later references win over earlier ones, the app's own values win over all, and a value is one line.
func CollectSet(spec Spec, read func(Reference) (map[string]string, error)) (*Set, error) {
	s := &Set{Variables: map[string]Variable{}}
	for _, ref := range spec.From {
		values, err := read(ref)
		if err != nil {
			return nil, err
		}
		from := FromSpec
		if ref.Kind == "Secret" {
			from = FromSecret
		}
		for name, value := range values {
			s.Variables[name] = Variable{Value: strings.ReplaceAll(value, "\n", ""), From: from, By: ref}
		}
	}
	for name, value := range spec.Values {
		s.Variables[name] = Variable{Value: strings.ReplaceAll(value, "\n", "")}
	}
	if len(s.Variables) == 0 && spec.When != Always {
		return nil, nil
	}
	return s, nil
}

// Secrets hides the values that come from Secrets in texts; nil for none.
func (s *Set) Secrets() *redact.Known { return redact.KnownOrNil(s.SecretValues()) }

// SecretValues are the values that come from Secrets.
func (s *Set) SecretValues() []string {
	if s == nil {
		return nil
	}
	var values []string
	for _, v := range s.Variables {
		if v.From == FromSecret {
			values = append(values, v.Value)
		}
	}
	return values
}

// TextValues returns the text values of a ConfigMap, and those of a Secret decoded. Of a Secret in a manifest those of stringData win.
func TextValues(o object.Object) (map[string]string, error) {
	out := map[string]string{}
	data, _ := o["data"].(map[string]any)
	for k, v := range data {
		s, _ := v.(string)
		if redact.IsSecret(o.ID()) {
			decoded, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return nil, fmt.Errorf("key %s of %s is not base64", k, o.ID())
			}
			s = string(decoded)
		}
		out[k] = s
	}
	text, _ := o["stringData"].(map[string]any)
	for k, v := range text {
		if s, ok := v.(string); ok && redact.IsSecret(o.ID()) {
			out[k] = s
		}
	}
	return out, nil
}
