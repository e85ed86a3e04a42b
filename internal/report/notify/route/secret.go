package route

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// mark begins and ends what stands in a Form for a key of a Secret.
const mark = "\x01"

// SecretMark stands in a Form for the value of a key of Argo CD's Secret: a Form is stored, and the value is put in its place when it is sent.
func SecretMark(key string) string { return mark + strings.ReplaceAll(key, mark, "") + mark }

// WithoutMarks returns a text of others as it may be part of a Form: it stands for no Secret.
func WithoutMarks(text string) string { return strings.ReplaceAll(text, mark, "") }

var marked = pattern.OnDemand(mark + `[^` + mark + `]*` + mark)

// FillMarks returns a text of a Form with the values of the Secret. An error names a key that is not there.
func FillMarks(text string, values map[string]string) (filled string, err error) {
	filled = marked().ReplaceAllStringFunc(text, func(found string) string {
		key := strings.Trim(found, mark)
		value, there := values[key]
		if !there {
			err = fmt.Errorf("argocd-notifications-secret has no key %s, which the template names", key)
		}
		return value
	})
	return filled, err
}
