package matter_test

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// TestTheFormOfAFailureIsItsCause: what is another text at each try is no other failure, and what is another cause is one.
func TestTheFormOfAFailureIsItsCause(t *testing.T) {
	for name, texts := range map[string][2]string{
		"a port": {
			"lookup git.example.com: read udp 10.244.1.7:39251->10.96.0.10:53: i/o timeout",
			"lookup git.example.com: read udp 10.244.1.7:40112->10.96.0.10:53: i/o timeout",
		},
		"an address":       {"dial tcp 140.82.121.3:443: connect: connection refused", "dial tcp [2a00:1450::5]:443: connect: connection refused"},
		"one name server":  {"dial tcp: lookup git on 10.0.0.1:53: no such host", "dial tcp: lookup git on 10.0.0.2:53: no such host"},
		"a server's words": {`HTTP 403; the server says "denied (RequestID \"a1\")"`, `HTTP 403; the server says "denied (RequestID \"b2\")"`},
		"a request": {
			"StatusCode: 403, RequestID: 4442587FB7D0A2F9, api error AccessDenied",
			"StatusCode: 403, RequestID: 5553587FB7D0A2F9, api error AccessDenied",
		},
		"a trace": {
			"AADSTS70025 Trace ID: 11111111-2222-3333-4444-555555555555 Timestamp: 2026-11-23 12:00:00Z",
			"AADSTS70025 Trace ID: 99999999-2222-3333-4444-555555555555 Timestamp: 2026-11-24 08:30:01Z",
		},
		"a time": {
			"certificate has expired: current time 2026-11-23T12:00:00Z is after then",
			"certificate has expired: current time 2026-11-23T12:00:09+01:00 is after then",
		},
		"a duration":            {"no answer after 1m2.5s; again in 20ms", "no answer after 3s; again in 1h0m0s"},
		"milliseconds":          {"Failed to connect to github.com port 443 after 21054 ms", "Failed to connect to github.com port 443 after 7 ms"},
		"how much was read":     {"timed out with 0 out of 10 bytes received", "timed out with 7 bytes received"},
		"a time as HTTP has it": {"limited until Mon, 23 Nov 2026 12:00:00 GMT", "limited until Tue, 24 Nov 2026 12:00:00 GMT"},
	} {
		if was, is := matter.FailureForm("GitOperationFailed", texts[0]), matter.FailureForm("GitOperationFailed", texts[1]); was != is {
			t.Errorf("%s: %q and %q", name, was, is)
		}
	}
	for name, texts := range map[string][2]string{
		"a line":       {"kustomization.yaml:7: no such file", "kustomization.yaml:8: no such file"},
		"a quantity":   {"exceeded quota: requested cpu=500m", "exceeded quota: requested cpu=700m"},
		"a host":       {"lookup git.example.com on 10.0.0.1:53: no such host", "lookup git.example.org on 10.0.0.1:53: no such host"},
		"what happens": {"dial tcp 10.0.0.1:443: connect: connection refused", "dial tcp 10.0.0.1:443: i/o timeout"},
		"the status":   {`HTTP 403; the server says "no"`, `HTTP 404; the server says "no"`},
		"a name":       {"ConfigMap shop/k8s-1 is invalid", "ConfigMap shop/k8s-2 is invalid"},
	} {
		if was, is := matter.FailureForm("BuildFailed", texts[0]), matter.FailureForm("BuildFailed", texts[1]); was == is {
			t.Errorf("%s: both %q", name, was)
		}
	}
	if got := matter.FailureForm("BuildFailed", "no such file"); got != "BuildFailed no such file" {
		t.Errorf("%q: the states of earlier versions have another form", got)
	}
}

// TestAnErrorOfNoMatterIsTheSameThoughItsTextVaries, such as of a work that is tried again after a growing pause.
func TestAnErrorOfNoMatterIsTheSameThoughItsTextVaries(t *testing.T) {
	first := message(notify.Once, "", start)
	first.Matter, first.Text = notify.Matter{}, "run: panic; tried again in 1s"
	again := first
	again.Text, again.At = "run: panic; tried again in 2s", start.Add(time.Second)
	s, _ := matter.Advance(matter.State{}, first)
	if _, said := matter.Advance(s, again); said || matter.KeyOf(first) != matter.KeyOf(again) {
		t.Errorf("said %v, keys %q and %q", said, matter.KeyOf(first), matter.KeyOf(again))
	}
	first.Severity, again.Severity = notify.Info, notify.Info
	if matter.KeyOf(first) == matter.KeyOf(again) {
		t.Error("two pieces of news are one")
	}
}
