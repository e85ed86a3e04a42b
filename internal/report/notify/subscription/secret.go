package subscription

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/report/notify/route"
)

var (
	action      = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	namedSecret = regexp.MustCompile(`(?:^|[^\w.)\]])\$?\.secrets\b`)
	secretKey   = regexp.MustCompile("\\.secrets\\.(\\w+)|\\b(?:index|get)\\s+\\$?\\.secrets\\s+[\"`]([^\"`]+)[\"`]")
)

var (
	errSecretHere = errors.New(".secrets is for webhook.NAME.path and webhook.NAME.body alone: other texts are kept, and people read them")
	errSecretKey  = errors.New(".secrets is named without a key: write {{.secrets.KEY}}, or {{index .secrets \"KEY\"}}")
	errSecretUsed = errors.New(".secrets: a value is known when it is sent, and goes into the text as it is: no function or comparison has it")
)

// namesSecrets reports whether a template names .secrets.
func namesSecrets(text string) bool {
	return slices.ContainsFunc(action.FindAllString(text, -1), namedSecret.MatchString)
}

// usesSecretsOtherwise reports whether a template names .secrets without a key, as in {{with .secrets}}: which of them it prints is not known before it does.
func usesSecretsOtherwise(text string) bool {
	return slices.ContainsFunc(action.FindAllString(text, -1), func(a string) bool { return namesSecrets(secretKey.ReplaceAllString(a, "")) })
}

// secret is a value of .secrets in a template: its mark, which stands for it until the message is sent. It is no string, so that a function that would change it refuses it.
type secret struct {
	key     string
	printed *int // how often marks were printed
}

// String returns the mark.
func (s secret) String() string {
	*s.printed++
	return route.SecretMark(s.key)
}

// MarshalText is for functions that write JSON or YAML: they change the mark, which is noticed.
func (s secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretsIn returns what .secrets is in a template: the keys that it names.
func secretsIn(text string, printed *int) map[string]any {
	out := map[string]any{}
	for _, a := range action.FindAllString(text, -1) {
		for _, found := range secretKey.FindAllStringSubmatch(a, -1) {
			key := found[1] + found[2]
			out[key] = secret{key, printed}
		}
	}
	return out
}

// checkMarks returns an error where a mark that was printed is not in the text that was made: a function has changed it.
func checkMarks(text string, secrets map[string]any, printed int) error {
	for key := range secrets {
		printed -= strings.Count(text, route.SecretMark(key))
	}
	if printed != 0 {
		return errSecretUsed
	}
	return nil
}
