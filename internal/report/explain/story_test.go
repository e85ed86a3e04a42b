package explain_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// TestAStoryIsTold prints what each story's `ask` asks: a path, "object", "blame", "blame all".
func TestAStoryIsTold(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, f golden.Files) string {
		s := subject(t, f)
		var b strings.Builder
		for ask := range strings.Lines(f.Need(t, "ask")) {
			ask = strings.TrimSpace(ask)
			fmt.Fprintf(&b, "> %s\n", ask)
			answer(&b, s, ask)
		}
		return b.String()
	})
}

func answer(b *strings.Builder, s explain.Subject, ask string) {
	switch ask {
	case "blame", "blame all":
		which := explain.Claimed
		if ask == "blame all" {
			which = explain.Every
		}
		for _, l := range s.Lines(which) {
			commit := l.Commit
			if !l.Time.IsZero() {
				commit += " " + now.Sub(l.Time).String()
			}
			fmt.Fprintf(b, "%-28s %-16s %-14s %-8s | %s", l.From, l.How, commit, l.Evidence, l.Text)
			if l.Note != "" {
				b.WriteString("  # " + l.Note)
			}
			b.WriteString("\n")
		}
		return
	case "object":
		ask = ""
	}
	p, err := s.Locate(ask)
	if err != nil {
		b.WriteString("error: " + err.Error() + "\n")
		return
	}
	for _, part := range s.Describe(p) {
		b.WriteString(part.Title + ":\n")
		for _, text := range part.Sentences {
			b.WriteString("  " + text + "\n")
		}
	}
}

// found is a finding as a story writes it.
type found struct {
	Path, Kind, Verdict, Reason, Claimant, Writer, Manager, User, Evidence, Age string
	Git, Live, Before                                                           any
	Person                                                                      bool
	Often                                                                       int
	Because                                                                     []string
}

// commit is one as a story writes it.
type commit struct {
	At, Hash, Author, Subject, Age string
	Oldest                         bool
}

// given is what a story has of the app and of how it was read.
type told struct {
	Kind, Namespace, Name, Path, Mode, Claims, Remediation, Document, Since, Stage, Health, Orphan string
	Suspended, Leaving, Unsure                                                                     bool
	Unknown                                                                                        []string
}

func read[T any](t *testing.T, f golden.Files, section string) (out T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(f[section]), &out); err != nil {
		t.Fatalf("%s: %v", section, err)
	}
	return out
}

func subject(t *testing.T, f golden.Files) explain.Subject {
	mask := redact.Mask{Key: []byte("stories")}
	live, git := given.Object(t, f["live"]), given.Object(t, f["git"])
	about := read[told](t, f, "app")
	s := explain.Subject{
		ID: live.ID(), Version: "v1", Live: mask.ShowFields(live), Git: mask.ShowFields(git), Now: now, Commits: map[explain.Spot]explain.Commit{},
		Unknown: about.Unknown, Leaving: about.Leaving, Unsure: about.Unsure, Orphan: about.Orphan, Stage: report.Stage(about.Stage),
		Journal: read[[]journal.Entry](t, f, "journal"),
	}
	if live == nil {
		s.ID = git.ID()
	}
	var err error
	if s.Owners, err = explain.FieldOwners(live.At("metadata", "managedFields")); err != nil {
		t.Fatal(err)
	}
	s.Since, _ = time.ParseDuration(about.Since)
	if about.Name != "" {
		s.App = &app.App{
			Key: app.Key{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}, Path: about.Path, Suspended: about.Suspended,
			Source: app.SourceKey{Kind: "GitRepository", Namespace: about.Namespace, Name: "demo"},
			Policy: policy.Policy{Mode: policy.Mode(about.Mode), Claims: policy.Claims(about.Claims), Remediation: policy.Remediation(about.Remediation)},
		}
		s.Revision = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	}
	s.Found = report.Object{ID: s.ID}
	s.Found.Health.Code = "Healthy"
	s.Found.File, s.Found.Line = spot(about.Document)
	if s.Git != nil {
		s.Places = desired.FieldOrigins(files(f), app.App{Path: about.Path}, desired.Object{ID: git.ID(), GVK: git.GVK(), Data: git, File: s.Found.File, Line: s.Found.Line})
	}
	for _, c := range read[[]commit](t, f, "commits") {
		file, line := spot(c.At)
		age, _ := time.ParseDuration(c.Age)
		s.Commits[explain.Spot{File: file, Line: line}] = explain.Commit{Hash: c.Hash, Author: c.Author, Subject: c.Subject, Time: now.Add(-age), Oldest: c.Oldest}
	}
	for _, x := range read[[]found](t, f, "findings") {
		s.Found.Findings = append(s.Found.Findings, finding(t, s, mask, x))
	}
	return s
}

func finding(t *testing.T, s explain.Subject, mask redact.Mask, x found) report.Finding {
	t.Helper()
	var p field.Path
	if x.Path != "" {
		var err error
		if p, err = s.Locate(x.Path); err != nil {
			t.Fatal(err)
		}
	}
	var at time.Time
	if age, err := time.ParseDuration(x.Age); err == nil {
		at = now.Add(-age)
	}
	return report.Finding{
		Path: p, Kind: compare.Kind(x.Kind), Desired: mask.Value(s.ID, p, whole(x.Git)), Live: mask.Value(s.ID, p, whole(x.Live)),
		Writer: ownership.Writer{
			Name: x.Writer, Manager: x.Manager, User: x.User, Person: x.Person, Evidence: ownership.Evidence(x.Evidence), Time: at, Before: x.Before,
			Often: x.Often, Because: x.Because,
		},
		Verdict: decide.Verdict(x.Verdict), Reason: x.Reason, Claimant: x.Claimant,
	}
}

// whole makes of YAML's floats the integers that the API machinery would.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = whole(e)
		}
		return out
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if n, ok := field.WholeNumber(v); ok {
			return n
		}
	}
	return v
}

func files(f golden.Files) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range f {
		if path, ok := strings.CutPrefix(name, "files/"); ok {
			out[path] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return out
}

func spot(text string) (string, int) {
	file, line, _ := strings.Cut(text, ":")
	n, _ := strconv.Atoi(line)
	return file, n
}
