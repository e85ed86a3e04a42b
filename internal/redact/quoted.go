package redact

import "regexp"

// Quoted returns what a decoder of YAML or Kustomize says of manifests, without what it quotes of them: they do not say of
// which kind an object is, and it may be a Secret.
func Quoted(text string) string {
	for _, q := range quotes {
		text = q.ReplaceAllString(text, "${1}***${2}")
	}
	return Text(text)
}

// quotes are the forms in which go.yaml.in/yaml and sigs.k8s.io/kustomize quote content, as found in their sources.
var quotes = []*regexp.Regexp{
	regexp.MustCompile("(?s)(`).+?(`|$)"),                                      // cannot unmarshal !!str `hunter2` into int
	regexp.MustCompile(`(?s)(unknown anchor ').+(' referenced)`),               // a password that begins with *
	regexp.MustCompile(`(?s)((?:patch|patches|config|resource) from \[).+()$`), // unable to parse SM or JSON patch from [...]
	regexp.MustCompile(`(?s)(node contents:).+()$`),                            // wrong node kind: expected ...: node contents:
	regexp.MustCompile(`(?s)(value: \{).+()$`),                                 // wrong Node Kind for spec expected: ...: value: {...}
	regexp.MustCompile(`(?s)(literal sources? ).+()$`),                         // loading KV pairs: literal sources [...]
	regexp.MustCompile(`(?s)(invalid utf8 bytes : ).+()$`),                     // of an env file's line
	regexp.MustCompile(`(?s)(").+(" is not a valid key name)`),                 // an env file's line without =
}
