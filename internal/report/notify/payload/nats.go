package payload

import (
	"errors"
	"net/url"
	"strings"
)

// nats publishes the form of Flux's events on a subject: spec.channel.
type nats struct{}

func (nats) build(t Target, c Content) (Request, error) {
	if len(t.Headers) > 0 {
		return Request{}, errors.New("a Provider of type nats takes no key headers in its Secret")
	}
	u, err := url.Parse(t.Address)
	if err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return Request{}, errors.New("the address is no URL of a NATS server: set spec.address, or the key address of the Secret, to nats://HOST:4222, or to tls://HOST:4222")
	}
	if !isSubject(t.Channel) {
		return Request{}, missing("nats", "spec.channel, the subject, without spaces and wildcards")
	}
	r, err := postJSON(t.Address, newEvent(c))
	r.Method, r.Subject, r.Headers = "PUB", t.Channel, map[string]string{}
	return r, err
}

// isSubject reports whether messages can be published on a subject: words of visible characters with points between.
func isSubject(text string) bool {
	if len(text) > 255 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '*' || r == '>' }) {
		return false
	}
	for word := range strings.SplitSeq(text, ".") {
		if word == "" {
			return false
		}
	}
	return true
}
