package webhook

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Payload reads the body of a request that was verified. Without a body it is nil.
func Payload(kind string, header Header, body []byte) (any, error) {
	if kind == gitHub && holdsForm(header) {
		var err error
		if body, err = payloadInForm(body); err != nil {
			return nil, err
		}
	}
	if len(body) == 0 && !senders[kind].object {
		return nil, nil
	}
	var out any
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, errors.New("the body is not JSON")
	}
	if _, is := out.(map[string]any); senders[kind].object && !is {
		return nil, errors.New("the body is no JSON object")
	}
	return out, nil
}

func holdsForm(header Header) bool {
	return strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "application/x-www-form-urlencoded")
}

// payloadInForm is what a form of GitHub's or Gitea's holds.
func payloadInForm(body []byte) ([]byte, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("the body is no form")
	}
	return []byte(form.Get("payload")), nil
}

// NeedsPayload reports whether the body of a request must be readable: its sender always sends JSON, or a filter reads it.
func (r Receiver) NeedsPayload() bool {
	return senders[r.Type].object || !r.Filter.IsZero() || slices.ContainsFunc(r.Resources, func(s Resource) bool { return !s.Filter.IsZero() })
}
