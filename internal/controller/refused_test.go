package controller

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/source"
)

// TestRefusedCredentialsAreTriedLessOften: the pause doubles up to five minutes, or the interval; other credentials, a request and a success end it, and what is no
// refusal has none.
func TestRefusedCredentialsAreTriedLessOften(t *testing.T) {
	for _, refused := range []*source.Error{{Reason: source.AuthenticationFailed, Err: errors.New("401")}, {Reason: source.PullFailed, Rejected: true, Err: errors.New("401")}} {
		testRefusals(t, refused)
	}
}

func testRefusals(t *testing.T, refused *source.Error) {
	for interval, want := range map[time.Duration][]time.Duration{
		time.Hour:   {15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		time.Minute: {15 * time.Second, 30 * time.Second, time.Minute, time.Minute},
		time.Second: {time.Second, time.Second},
	} {
		s, spec := dialect.Source{Interval: interval}, source.Spec{URL: "https://git.example.com/a", Auth: source.Auth{Password: "one"}}
		now, r := time.Unix(0, 0), refusedLogin{}
		for i, pause := range want {
			if r = r.after(s, spec, refused, now); r.until.Sub(now) != pause {
				t.Errorf("interval %s, refusal %d: the pause is %s, want %s", interval, i, r.until.Sub(now), pause)
			}
			if err := r.awaits(s, spec, r.until.Add(-1)); !errors.Is(err, refused) {
				t.Errorf("within the pause: %v", err)
			}
			now = r.until
			if err := r.awaits(s, spec, now); err != nil {
				t.Errorf("after the pause: %v", err)
			}
		}
		other, asked := spec, s
		other.Auth.Password, asked.Request = "two", "now"
		if err := errors.Join(r.awaits(s, other, now.Add(-1)), r.awaits(asked, spec, now.Add(-1))); err != nil {
			t.Errorf("other credentials, or a request, wait: %v", err)
		}
		if again := r.after(s, other, refused, now); again.times != 1 {
			t.Errorf("other credentials are refused %d times", again.times)
		}
		for _, err := range []error{nil, errors.New("connection refused"), &source.Error{Reason: source.GitOperationFailed, Err: errors.New("404")}} {
			if again := r.after(s, spec, err, now); again.times != 0 {
				t.Errorf("after %v they are refused", err)
			}
		}
	}
}

// TestTheAlertAboutSourcesSeesRefusedCredentials compares the query of docs/metrics.md with how often refused credentials are tried.
func TestTheAlertAboutSourcesSeesRefusedCredentials(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	query := regexp.MustCompile(`increase\(truce_source_fetches_total\{result!="Succeeded"\}\[(\d+m)\]\) > (\S+)`).FindStringSubmatch(string(page))
	if query == nil {
		t.Fatal("docs/metrics.md has no alert about sources")
	}
	window, err := time.ParseDuration(query[1])
	if err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.ParseFloat(query[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	if tries := window / (longestRefusal + retrySource); float64(tries) <= limit {
		t.Errorf("within %s there may be no more than %d tries: the alert, which wants more than %s, is silent", window, tries, query[2])
	}
}
