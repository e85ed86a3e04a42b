package gotemplate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// Bounds of what the templates of one set do.
const (
	maxFuel  = 64 << 20 // of all of a set: bytes that functions are given, and steps
	maxText  = 1 << 20  // of one text, and of what a function is given that makes no more of it than there was
	maxGiven = 16 << 10 // of what any other function is given: the most that one makes of it is the square
	maxCount = 10_000   // of a number that says how often
	maxDepth = 100      // of values in values
	stepCost = 256
	stepName = "truceStep"
)

var errTooLong = errors.New("it makes more than is followed: a text that is too long, or too many steps")

// fuel is what the templates of a set may still do.
type fuel struct{ left int }

func (f *fuel) burn(n int) error {
	if f.left -= n; f.left < 0 {
		return errTooLong
	}
	return nil
}

// gone are the functions that Argo CD takes away (env, expandenv, getHostByName): there is none such there, and none here.
var gone = []string{"env", "expandenv", "getHostByName"}

// varies are the functions whose answers differ from time to time, from machine to machine or by chance: what a template makes of them is
// not in the repository.
var varies = regexp.MustCompile(`(?i)date|^(now|ago|unixEpoch|durationRound|shuffle|uuidv4|bcrypt|htpasswd|encryptAES|derivePassword)$|^rand|^gen[A-Z]`)

// linear are the functions that make no more of what they are given than some multiple.
var linear = []string{
	"toYaml", "fromYaml", "fromYamlArray", "toJson", "toRawJson", "mustToJson", "mustToRawJson", "fromJson", "mustFromJson", "default", "get", "dig", "hasKey",
	"quote", "squote", "trim", "trimSuffix", "trimPrefix", "lower", "upper", "print", "println", "ternary", "coalesce", "empty", "keys", "b64enc", "b64dec",
}

// functions are those of Sprig and Argo CD, each bounded.
func (f *fuel) functions() template.FuncMap {
	all := sprig.GenericFuncMap()
	for _, name := range gone {
		delete(all, name)
	}
	for name := range all {
		if varies.MatchString(name) {
			all[name] = func(...any) (string, error) {
				return "", fmt.Errorf("%s answers differently each time, or on each machine", name)
			}
		}
	}
	all["keys"], all["values"] = sortedKeys, sortedValues
	all["normalize"], all["slugify"] = SanitizeName, slugify
	all["toYaml"], all["fromYaml"], all["fromYamlArray"] = encodeYAML, fromYAML[map[string]any], fromYAML[[]any]
	all["print"], all["println"], all["printf"] = fmt.Sprint, fmt.Sprintln, formatBounded
	all["html"], all["js"], all["urlquery"] = template.HTMLEscaper, template.JSEscaper, template.URLQueryEscaper
	for name, function := range all {
		most := maxGiven
		if slices.Contains(linear, name) {
			most = maxText
		}
		all[name] = f.bounded(function, most)
	}
	all[stepName] = func() (string, error) { return "", f.burn(stepCost) }
	return all
}

// bounded is a function that is given no more than that, and of which no more than a text's most is taken. What it panics with, the template
// returns as an error.
func (f *fuel) bounded(function any, most int) any {
	of := reflect.ValueOf(function)
	call := of.Call
	if of.Type().IsVariadic() {
		call = of.CallSlice
	}
	return reflect.MakeFunc(of.Type(), func(in []reflect.Value) []reflect.Value {
		given := 1
		for _, v := range in {
			n, ok := valueWeight(v, most-given, maxDepth)
			if given += n; !ok || countsTooMuch(v) {
				panic(errTooLong)
			}
		}
		if err := f.burn(given); err != nil {
			panic(err)
		}
		out := call(in)
		for _, v := range out {
			if _, ok := valueWeight(v, maxText, maxDepth); !ok {
				panic(errTooLong)
			}
		}
		return out
	}).Interface()
}

// countsTooMuch reports whether a whole number, by which a function of Sprig says how often or how wide, is too much. What it computes with
// is of any type.
func countsTooMuch(v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.Int:
		return v.Int() > maxCount || v.Int() < -maxCount
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Int: // seq's
		for i := range v.Len() {
			if countsTooMuch(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

// valueWeight is about how many bytes a value is written in, if it is at most that, and no deeper.
func valueWeight(v reflect.Value, most, depth int) (int, bool) {
	if depth < 0 || most < 0 {
		return 0, false
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return 1, true
		}
		return valueWeight(v.Elem(), most, depth-1)
	case reflect.String:
		return v.Len(), v.Len() <= most
	case reflect.Slice, reflect.Array:
		return sumWeights(most, depth, v.Len(), v.Index)
	case reflect.Map:
		all := v.MapKeys()
		n, ok := sumWeights(most, depth, len(all), func(i int) reflect.Value { return all[i] })
		if !ok {
			return n, false
		}
		k, ok := sumWeights(most-n, depth, len(all), func(i int) reflect.Value { return v.MapIndex(all[i]) })
		return n + k, ok
	default:
		const number = 8
		return number, number <= most
	}
}

func sumWeights(most, depth, count int, at func(int) reflect.Value) (int, bool) {
	total := 1
	for i := range count {
		n, ok := valueWeight(at(i), most-total, depth-1)
		if total += n + 1; !ok || total > most {
			return total, false
		}
	}
	return total, true
}

// sortedKeys and values of maps have no order in Sprig: here they have one.
func sortedKeys(all ...map[string]any) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, slices.Sorted(maps.Keys(m))...)
	}
	return out
}

func sortedValues(m map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

var wide = regexp.MustCompile(`%[^a-zA-Z%]*(\d{4}|\*)`)

func formatBounded(format string, args ...any) (string, error) {
	if wide.MatchString(format) {
		return "", errTooLong
	}
	return fmt.Sprintf(format, args...), nil
}

// slugify is given how long the text may be at most, whether words are to stay whole, and the text: from the last on, as many as one likes.
func slugify(args ...any) (string, error) {
	most, smart, text := 50, true, ""
	var ok = true
	switch n := len(args); n {
	case 0:
	case 3:
		smart, ok = args[1].(bool)
		fallthrough
	case 2:
		var number bool
		most, number = args[0].(int)
		ok = ok && number
		fallthrough
	case 1:
		var is bool
		text, is = args[n-1].(string)
		ok = ok && is
	default:
		ok = false
	}
	if !ok {
		return "", errors.New("slugify: want a number, true or false, and a text")
	}
	return slugName(text, most, smart), nil
}

func encodeYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML[T any](text string) (T, error) {
	var out T
	err := yaml.Unmarshal([]byte(text), &out)
	return out, err
}
