package attribution_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
	"sigs.k8s.io/yaml"
)

// TestStories attributes changed fields. A story has
//
//	live.yaml   the object as it is
//	case        field (a JSON pointer), gone, untouched (whose annotation was written), ours, before, put: words with their values
//	reviews     what admission saw: YAML documents with at and request; reads: what the ring makes of it is printed, too
//	claimants   autoscalers, as YAML
//	events      YAML documents
//	reported    what was said before, as YAML documents
func TestStories(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, f golden.Files) string {
		hasher := ownership.NewHasher()
		live := given.Object(t, f["live.yaml"])
		owners, err := ownership.Entries(live)
		if err != nil {
			t.Fatal(err)
		}
		c := attribution.Case{UID: live.UID(), Now: clock(t, "12:01:00"), Hasher: hasher}
		read(t, &c, f["case"], owners, live)
		for _, cl := range claimed(t, f["claimants"], claim.Subject{Live: live, Owners: owners}) {
			if cl.Path.Equals(c.Path) {
				c.Scaler = cl.Scaler()
			}
		}
		var b strings.Builder
		s := statements(t, f, hasher, &b)
		b.WriteString(account(attribution.Attribute(c, s)))
		return b.String()
	})
}

func load[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func documents(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return strings.Split(text, "\n---\n")
}

func clock(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.AddDate(2026, 0, 0)
}

func read(t *testing.T, c *attribution.Case, text string, owners []ownership.Entry, live object.Object) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word, value, _ := strings.Cut(line, " ")
		switch word {
		case "field":
			p, err := field.ParsePointer(value)
			if err != nil {
				t.Fatal(err)
			}
			path, ok := ownership.Resolve(p, live, owners)
			if !ok {
				t.Fatalf("no field %s", value)
			}
			c.Path = path
			value, _ := field.ValueAt(live, path)
			c.Live = redact.HideValue(value)
			c.Writer = ownership.WriterOf(owners, path)
		case "gone":
			c.Writer = ownership.Writer{Evidence: ownership.Unknown}
		case "untouched":
			c.Hold = attribution.Untouched
			c.Sender = ownership.WriterOf(owners, field.NewPath("metadata", "annotations", value))
			if c.Sender.Name != "" {
				c.Sender.Evidence = ownership.Inferred
			}
		case "ours":
			c.Hold = attribution.Ours
		case "before":
			c.Before = clock(t, value)
		case "put":
			c.CorrectedAt = clock(t, value)
		default:
			t.Fatalf("case: %q", line)
		}
	}
}

func claimed(t *testing.T, text string, s claim.Subject) []claim.Claim {
	t.Helper()
	var all []claim.Claimant
	for _, doc := range documents(text) {
		all = append(all, claim.Builtin().Read(given.Object(t, doc))...)
	}
	return claim.Builtin().On(s, all)
}

func statements(t *testing.T, f golden.Files, h ownership.Hasher, b *strings.Builder) attribution.Statements {
	t.Helper()
	var s attribution.Statements
	for _, doc := range documents(f["reviews"]) {
		in := given.Object(t, doc)
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		r, err := attribution.ReadReview(body, h, func(_, resource string) string { return map[string]string{"deployments": "Deployment"}[resource] })
		if errors.Is(err, attribution.ErrNoWrite) {
			fmt.Fprintln(b, "seen: nothing")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r.At = clock(t, in["at"].(string))
		fmt.Fprintln(b, "seen:", r.Object, r.Operation, changed(r))
		s.Records = append([]attribution.Record{r}, s.Records...)
	}
	for _, doc := range documents(f["events"]) {
		in := load[map[string]string](t, doc)
		s.Events = append(s.Events, attribution.Event{
			At: clock(t, in["at"]), Reporter: in["reporter"], Reason: in["reason"], Message: in["message"],
			About: object.ID{Kind: in["kind"], Namespace: "shop", Name: in["name"]},
		})
	}
	for _, doc := range documents(f["reported"]) {
		o := given.Object(t, doc)
		in := load[struct {
			Path, At string
			Here     bool
			Writer   ownership.Writer
		}](t, doc)
		in.Writer.Time = clock(t, in.At)
		s.Earlier = append(s.Earlier, attribution.EarlierAnswer{Path: in.Path, Live: redact.HideValue(o["live"]), Writer: in.Writer, SameProcess: in.Here})
	}
	return s
}

func changed(r attribution.Record) string {
	var out []string
	for _, c := range r.Changes {
		text := c.Path
		if c.Hidden {
			text += " (hidden)"
		}
		if c.Mutated {
			text += " (mutated)"
		}
		if c.Hidden && c.To != 0 {
			text += " WITH A HASH"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func account(w ownership.Writer) string {
	at := "never"
	if !w.Time.IsZero() {
		at = w.Time.UTC().Format("15:04:05")
		if w.AtLatest {
			at = "the latest " + at
		}
	}
	out := fmt.Sprintf("%s\n  %s, at %s, manager %q, user %q, person %t\n", w, w.Evidence, at, w.Manager, w.User, w.Person)
	for _, b := range w.Because {
		out += "  - " + b + "\n"
	}
	return out
}
