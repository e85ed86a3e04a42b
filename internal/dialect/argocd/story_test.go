package argocd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestApplicationsBecomeApps(t *testing.T) {
	golden.Run(t, "testdata/app/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		return appText(Applications{}.App(cr, policy.Policy{})) + sourceText(cr)
	})
}

func TestReportsBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/status/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, r := given.Object(t, in.Need(t, "cr.yaml")), reported(t, in.Need(t, "report.yaml"))
		first := Applications{}.Status(cr, r)
		namedFields(t, first)
		answered := Applications{}.AnsweredRequests(cr, r)
		cr["status"] = object.CloneValue(first)
		r.At, r.Seen = r.At.Add(time.Hour), r.Seen.Add(time.Hour)
		if diff := cmp.Diff(first, Applications{}.Status(cr, r)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, map[string]any{"status": first, "answered": answered})
	})
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func appText(a app.App) string {
	var b strings.Builder
	line := func(key string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "0s" && s != "false" && s != "map[]" && s != "[]" {
			fmt.Fprintf(&b, "%s: %s\n", key, s)
		}
	}
	line("app", a.Key)
	line("source", a.Source)
	line("path", a.Path)
	for _, p := range a.Overlay.Parts(a.Namespace) {
		line("laid over", p.Field+": "+editor.CompactJSON(p.Kustomization))
	}
	line("components", a.Overlay.Components)
	line("optional", a.Overlay.Optional)
	line("forced labels", a.Overlay.Labels.Force)
	line("forced annotations", a.Overlay.Annotations.Force)
	line("layout", string(a.Layout)+manifestsText(a.Manifests))
	if a.Layout == app.ChartLayout {
		line("chart", editor.CompactJSON(a.Chart))
	}
	if a.Inflated != nil && (a.Inflated.KubeVersion != "" || a.Inflated.APIVersions != nil) {
		line("charts of kustomizations", editor.CompactJSON(a.Inflated))
	}
	for _, p := range a.Parts {
		line(p.Field, partText(p))
	}
	line("home", homeText(a.DefaultNamespace))
	if a.Kubeconfig.IsSet() {
		line("in", a.TargetName())
	}
	line("times", fmt.Sprintf("every %s, within %s, again after %s times %d up to %s, %d times", a.Interval, a.Timeout, a.Retry, a.Backoff.Factor, a.Backoff.Max, a.Backoff.Limit))
	line("suspended", a.Suspended)
	line("request", a.Request)
	line("deleting", a.Deleting)
	line("which waits", a.DeletionPaused)
	line("rollout", fmt.Sprintf("%s, drift %s, prune %s, at the end %s", a.Rollout, a.Policy.Remediation, a.Prune, a.PruneOnDelete))
	line("before a prune", a.PruneRestraint.Mark)
	line("before the end", a.DeleteRestraint.Mark)
	line("empty", a.AllowEmpty)
	line("finalizers", a.Finalizers)
	for _, h := range a.EndHooks {
		if h.Asked {
			line("at the end", h.Event)
		}
	}
	line("reached", a.ReachedRevision)
	line("last failure", a.LastFailure)
	line("has failed", strings.TrimSpace(a.FailedRevision+" "+a.FailedMessage))
	line("policy", fmt.Sprintf("%s, claims %s, pause %s, additions %s", a.Policy.Mode, a.Policy.Claims, a.Policy.Pause, a.Policy.Additions))
	line("order", orderText(a.SyncRequest))
	for _, r := range a.Ignore {
		line("ignore", ruleText(r))
	}
	for _, p := range a.Problems {
		line("problem", p.Field+": "+p.Reason)
	}
	for _, n := range a.Notes {
		line("note", n)
	}
	return b.String()
}

func partText(p app.Part) string {
	if p.FilesOnly {
		return fmt.Sprintf("%s: files of %s", p.Dir, p.Source)
	}
	out := fmt.Sprintf("%s: %s, path %s, %s%s", p.Dir, p.Source, p.Path, p.Layout, manifestsText(p.Manifests))
	if p.Layout == app.ChartLayout {
		out += " " + editor.CompactJSON(p.Chart)
	}
	for _, laid := range p.Overlay.Parts(p.Namespace) {
		out += fmt.Sprintf(", %s %s", laid.Field, editor.CompactJSON(laid.Kustomization))
	}
	return out
}

func manifestsText(m app.Manifests) string {
	if m == (app.Manifests{}) {
		return ""
	}
	return fmt.Sprintf(" %+v", m)
}

func homeText(h policy.DefaultNamespace) string {
	if !h.Make {
		return h.Name
	}
	return fmt.Sprintf("%s, made with %v %v", h.Name, h.Labels, h.Annotations)
}

func orderText(o app.SyncRequest) string {
	if o.Token == "" {
		return ""
	}
	out := fmt.Sprintf("by %q of %q, prune %s", o.By, o.Revision, o.Prune)
	if o.PruneRestraint.IsSet() {
		out += " with " + o.PruneRestraint.Mark
	}
	if o.Automated {
		out += ", automated"
	}
	if o.Revisions != nil {
		out += fmt.Sprintf(", each of %q", o.Revisions)
	}
	if o.Mode != "" {
		out += ", " + string(o.Mode)
	}
	if len(o.Objects) > 0 {
		out += fmt.Sprintf(", only %v", o.Objects)
	}
	if o.MakeNamespace {
		out += ", with the namespace"
	}
	if o.Hooks != "" {
		out += ", hooks: " + string(o.Hooks)
	}
	if o.Retry > 0 {
		out += fmt.Sprintf(", again after %s, %d times", o.Retry, o.Backoff.Limit)
	}
	if !o.StartedAt.IsZero() {
		out += ", begun " + o.StartedAt.UTC().Format(time.RFC3339)
	}
	if o.Refused != "" {
		out += ", refused: " + o.Refused
	}
	return out
}

func ruleText(r ignore.Rule) string {
	var parts []string
	if r.Target.Group != nil {
		parts = append(parts, "group "+r.Target.Group.String())
	}
	if r.Target.Kind != nil {
		parts = append(parts, "kind "+r.Target.Kind.String())
	}
	if r.Target.Name != nil {
		parts = append(parts, "name "+r.Target.Name.String())
	}
	if r.Target.Namespace != nil {
		parts = append(parts, "namespace "+r.Target.Namespace.String())
	}
	return fmt.Sprintf("%s: %v %v %v in %s", r.Name, r.Pointers, r.Queries, r.Managers, strings.Join(parts, ", "))
}

// sourceText prints what would be fetched.
func sourceText(cr object.Object) string {
	s := Repositories{}.Source(cr)
	spec, err := Repositories{}.Spec(cr, source.Secrets{})
	out := fmt.Sprintf("source: %s, every %s\n", s.Key, s.Interval)
	if err != nil {
		return out + "fetch: " + err.Error() + "\n"
	}
	ref := strings.NewReplacer(" Filter: ", " ", " Strict:false", "").Replace(fmt.Sprintf("%+v", spec.Ref))
	if spec.Kind != source.Git {
		ref = fmt.Sprintf("%s: %+v, tag %q, %s", spec.Kind, spec.Chart, spec.Ref.SemVer+spec.Ref.Any, spec.MediaType)
	}
	return out + fmt.Sprintf("fetch: %s %s\n", spec.URL, ref)
}

// reported reads a report as stories write it down.
func reported(t *testing.T, data string) report.Report {
	t.Helper()
	var in struct {
		report.Report
		Order struct{ Token, By string } // of the rollout
		Trial bool
		Only  []string

		Objects []struct {
			report.Object
			ID       string // kind.group namespace/name, with - for none
			Findings []struct {
				Path, Verdict, Claimant, Reason string
				Desired, Live                   any
			}
		}
		Images  []struct{ ID, Path, Name string }
		Leaving []string
		Pruned  []string
		Shared  []struct {
			ID   string
			With app.Key
			Ours bool
		}
	}
	if err := yaml.UnmarshalStrict([]byte(data), &in); err != nil {
		t.Fatal(err)
	}
	r := in.Report
	r.Rollout.Order.Token, r.Rollout.Order.By = in.Order.Token, in.Order.By
	if in.Trial {
		r.Rollout.Order.Mode = policy.Preview
	}
	for _, s := range in.Only {
		r.Rollout.Order.Objects = append(r.Rollout.Order.Objects, objectID(t, s))
	}
	for _, i := range in.Images {
		r.Images = append(r.Images, overlay.Container{ID: objectID(t, i.ID), Field: field.PathString(field.NewPath(strings.Split(i.Path, ".")...)), Image: i.Name})
	}
	for _, o := range in.Objects {
		o.Object.ID = objectID(t, o.ID)
		for _, f := range o.Findings {
			var path field.Path
			if f.Path != "" {
				path = field.NewPath(strings.Split(f.Path, ".")...)
			}
			o.Object.Findings = append(o.Object.Findings, report.Finding{
				Path: path, Desired: f.Desired, Live: f.Live, Verdict: decide.Verdict(f.Verdict), Claimant: f.Claimant, Reason: f.Reason,
			})
		}
		r.Objects = append(r.Objects, o.Object)
		fate := report.Brought
		if o.Problem != "" {
			fate = report.Failed
		}
		if !r.Rollout.Ended.IsZero() {
			l := report.ListedObject{ID: o.Object.ID, Version: o.Version}
			r.Rollout.Outcomes = append(r.Rollout.Outcomes, report.Outcome{ListedObject: l, Fate: fate, Message: o.Problem})
		}
	}
	for _, s := range in.Pruned {
		r.Rollout.Outcomes = append(r.Rollout.Outcomes, report.Outcome{ListedObject: report.ListedObject{ID: objectID(t, s)}, Fate: report.Pruned})
	}
	for _, s := range in.Leaving {
		r.Leaving = append(r.Leaving, report.ListedObject{ID: objectID(t, s), Version: "v1"})
	}
	for _, s := range in.Shared {
		r.Shared = append(r.Shared, report.Shared{ID: objectID(t, s.ID), With: s.With, Ours: s.Ours})
	}
	return r
}

func objectID(t *testing.T, s string) object.ID {
	t.Helper()
	kind, rest, ok := strings.Cut(s, " ")
	ns, name, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 {
		t.Fatalf("%q: want kind.group namespace/name", s)
	}
	kind, group, _ := strings.Cut(kind, ".")
	return object.ID{Group: group, Kind: kind, Namespace: strings.Trim(ns, "-"), Name: name}
}

func TestHistoryIsOfRolloutsThatWentThroughWhole(t *testing.T) {
	cr := given.Object(t, "spec: {revisionHistoryLimit: 2, source: {repoURL: /r, path: p}}")
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var ids []int64
	for n := range 4 {
		at = at.Add(time.Minute)
		done := report.Report{Stage: report.Done, Reason: report.Succeeded, Rollout: report.Rollout{
			Revision: fmt.Sprintf("main@sha1:%d", n), Begun: at, Ended: at.Add(time.Second), Reason: report.Succeeded,
		}}
		if n == 1 {
			done.Rollout.Reason = report.ApplyFailed
		}
		cr["status"] = Applications{}.Status(cr, done)
	}
	var s applicationStatus
	reader.DecodeStatus(cr, &s)
	for _, h := range s.History {
		ids = append(ids, h.ID)
	}
	if !slices.Equal(ids, []int64{1, 2}) || s.History[1].Revision != "3" {
		t.Errorf("history %v: %+v", ids, s.History)
	}
}

// TestOperationsWithinOneSecondAreTheirOwnEntries: each is reported as under way, as ended, and once more when something else has changed.
func TestOperationsWithinOneSecondAreTheirOwnEntries(t *testing.T) {
	cr := given.Object(t, "spec: {source: {repoURL: /r, path: p}}")
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var revisions []string
	for _, o := range []struct{ asked, revision string }{{"main", "1"}, {"next", "2"}, {"1", "1"}, {"1", "1"}} {
		operation := map[string]any{"sync": map[string]any{"revision": o.asked}}
		r := report.Report{Running: true, Rollout: report.Rollout{Order: app.SyncRequest{Token: tokenOf(operation)}, Revision: "main@sha1:" + o.revision, Begun: at}}
		cr["operation"] = operation
		cr["status"] = Applications{}.Status(cr, r)
		delete(cr, "operation")
		at = at.Add(50 * time.Millisecond)
		r.Running, r.Stage, r.Reason, r.Rollout.Reason, r.Rollout.Ended = false, report.Done, report.Succeeded, report.Succeeded, at
		cr["status"] = Applications{}.Status(cr, r)
		cr["status"] = Applications{}.Status(cr, r)
	}
	var s applicationStatus
	reader.DecodeStatus(cr, &s)
	for _, h := range s.History {
		revisions = append(revisions, fmt.Sprint(h.ID, " ", h.Revision))
	}
	if diff := cmp.Diff([]string{"0 1", "1 2", "2 1", "3 1"}, revisions); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
