package redact

import "regexp"

// WithoutQuoted returns what a decoder of YAML or Kustomize says of manifests, without what it quotes of them: they do not say of
// which kind an object is, and it may be a Secret.
func WithoutQuoted(text string) string {
	for _, q := range quotes {
		text = q.ReplaceAllString(text, "${1}***${2}")
	}
	return MaskText(text)
}

// quotes are the forms in which go.yaml.in/yaml and sigs.k8s.io/kustomize quote content, as found in their sources.
var quotes = []*regexp.Regexp{
	regexp.MustCompile("(?s)(`).+?(`|$)"),                                      // cannot unmarshal !!str `hunter2` into int
	regexp.MustCompile(`(?s)(unknown anchor ').+(' referenced)`),               // a password that begins with *
	regexp.MustCompile(`(?s)((?:patch|patches|config|resource) from \[).+()$`), // unable to parse SM or JSON patch from [...]
	// wrong node kind: ...: node contents:; patch and path can't be set at the same time; received error for the following resource:
	regexp.MustCompile(`(?s)(node contents:|at the same time|one of patch and path in|following resource:)\s*\n.+()$`),
	regexp.MustCompile(`(?s)(value: \{).+()$`), // wrong Node Kind for spec expected: ...: value: {...}
	// missing metadata.name in object map[...]; options.index 9 is out of bounds for value ...; node a.b is not a string: ...
	regexp.MustCompile(`(?s)( in object | out of bounds for value | is not a string: |cannot be found in (?:roleRef )?).+()$`),
	regexp.MustCompile(`(?s)(literal sources? ).+()$`),         // loading KV pairs: literal sources [...]
	regexp.MustCompile(`(?s)(invalid utf8 bytes : ).+()$`),     // of an env file's line
	regexp.MustCompile(`(?s)(").+(" is not a valid key name)`), // an env file's line without =
}
