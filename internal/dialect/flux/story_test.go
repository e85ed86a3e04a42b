package flux

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/model/release/chart"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestKustomizationsBecomeApps(t *testing.T) {
	golden.Run(t, "testdata/app/*.txtar", func(t *testing.T, in golden.Files) string {
		return appText(Kustomizations{}.App(given.Object(t, in.Need(t, "cr.yaml")), policy.Policy{}))
	})
}

// Each story has cases of a dependency: a title, then a dependency's custom resource, or nothing for one that is not there.
func TestADependencyIsReadyAsInFlux(t *testing.T) {
	golden.Run(t, "testdata/dependency/*.txtar", func(t *testing.T, in golden.Files) string {
		self := given.Object(t, in.Need(t, "cr.yaml"))
		on := Kustomizations{}.App(self, policy.Policy{}).DependsOn
		var out strings.Builder
		for _, text := range strings.Split(in.Need(t, "cases"), "=== ")[1:] {
			title, text, _ := strings.Cut(text, "\n")
			var dep object.Object
			if strings.TrimSpace(text) != "" {
				dep = given.Object(t, text)
			}
			for _, d := range on {
				fmt.Fprintf(&out, "%s: %s\n", title, cmp.Or(Kustomizations{}.Unready(d, self, dep, strings.TrimSpace(in.Need(t, "revision"))), "ready"))
			}
		}
		return out.String()
	})
}

func TestReportsBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/status/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, r := given.Object(t, in.Need(t, "cr.yaml")), reported(t, in.Need(t, "report.yaml"))
		first := Kustomizations{}.Status(cr, r)
		cr["status"] = object.CloneValue(first)
		r.At = r.At.Add(time.Hour)
		if !r.Seen.IsZero() {
			r.Seen = r.Seen.Add(time.Hour)
		}
		if diff := gocmp.Diff(first, Kustomizations{}.Status(cr, r)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

func TestGitRepositoriesBecomeSpecs(t *testing.T) {
	golden.Run(t, "testdata/source/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		var secret map[string][]byte
		if data, ok := in["secret.yaml"]; ok {
			secret = map[string][]byte{}
			for k, v := range given.Object(t, data) {
				secret[k] = []byte(fmt.Sprint(v))
			}
		}
		return sourceText(GitRepositories{}.Source(cr)) + specText(GitRepositories{}.Spec(cr, source.Secrets{Main: secret, Other: otherSecrets(t, in)}))
	})
}

func TestFetchesBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/sourcestatus/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, state := given.Object(t, in.Need(t, "cr.yaml")), fetched(t, in.Need(t, "state.yaml"))
		first := GitRepositories{}.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := gocmp.Diff(first, GitRepositories{}.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

// otherSecrets are the files secret-NAME.yaml.
func otherSecrets(t *testing.T, in golden.Files) map[string]map[string][]byte {
	out := map[string]map[string][]byte{}
	for file, data := range in {
		name, ok := strings.CutPrefix(strings.TrimSuffix(file, ".yaml"), "secret-")
		if !ok {
			continue
		}
		out[name] = map[string][]byte{}
		for k, v := range given.Object(t, data) {
			out[name][k] = []byte(fmt.Sprint(v))
		}
	}
	return out
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
	line("uid", a.UID)
	line("generation", a.Generation)
	line("labels", a.Labels)
	line("source", a.Source)
	line("path", a.Path)
	for _, p := range a.Overlay.Parts(a.Namespace) {
		line("laid over", p.Field+": "+editor.CompactJSON(p.Kustomization))
	}
	line("components", a.Overlay.Components)
	line("optional", a.Overlay.Optional)
	line("common labels", a.Overlay.Metadata.Labels)
	line("common annotations", a.Overlay.Metadata.Annotations)
	line("variables", a.PostBuild.Values)
	line("variables from", a.PostBuild.From)
	line("substitution", string(a.PostBuild.When))
	line("namespace", a.Namespace)
	line("account", a.Account.User())
	if a.Kubeconfig.IsSet() {
		line("cluster of", strings.TrimSpace(a.KubeconfigName()+" "+a.Kubeconfig.Key))
	}
	line("goes on in the cluster", a.MovedTo)
	for _, c := range a.HealthChecks {
		line("checks", c.GVK().String()+" "+c.ID.Namespace+"/"+c.ID.Name)
	}
	for _, c := range a.HealthExprs {
		line("health of "+c.Kind+"."+c.Group, fmt.Sprintf("inProgress %q, failed %q, current %q", c.InProgress, c.Failed, c.Current))
	}
	for _, d := range a.DependsOn {
		line("depends on", strings.TrimSpace(d.On.String()+" "+d.Ready.String()))
	}
	line("interval", a.Interval)
	line("look", a.SourceInterval)
	line("retry", a.Retry)
	line("timeout", a.Timeout)
	line("suspended", a.Suspended)
	line("request", a.Request)
	line("last failure", a.LastFailure)
	line("approved", a.Approved)
	line("deleting", a.Deleting)
	line("prune", a.Prune)
	if a.PruneOnDelete != a.Prune {
		line("prune at the end", a.PruneOnDelete)
	}
	line("waits for termination", a.AwaitTermination)
	if a.PruneLimit != nil {
		line("most pruned", *a.PruneLimit)
	}
	line("wait", a.Wait)
	line("validation", a.Validation)
	line("policy", fmt.Sprintf("%s, claims %s, drift %s, spacing %s, pause %s, additions %s",
		a.Policy.Mode, a.Policy.Claims, a.Policy.Remediation, a.Policy.Spacing, a.Policy.Pause, a.Policy.Additions))
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

func ruleText(r ignore.Rule) string {
	var parts []string
	for name, re := range map[string]*regexp.Regexp{
		"1 group": r.Target.Group, "2 version": r.Target.Version, "3 kind": r.Target.Kind, "4 namespace": r.Target.Namespace, "5 name": r.Target.Name,
	} {
		if re != nil {
			parts = append(parts, name+"="+re.String())
		}
	}
	for name, sel := range map[string]ignore.Selector{"6 labels": r.Target.Labels, "7 annotations": r.Target.Annotations} {
		if sel != nil {
			parts = append(parts, fmt.Sprintf("%s=%v", name, sel))
		}
	}
	slices.Sort(parts)
	return fmt.Sprintf("%s: %v in objects with %q", r.Name, r.Pointers, parts)
}

func sourceText(s dialect.Source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "source: %s, every %s, within %s\n", s.Key, s.Interval, s.Timeout)
	for _, line := range [][2]string{{"request", s.Request}, {"secret", s.Secret}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	if s.Suspended {
		b.WriteString("suspended\n")
	}
	for _, in := range s.Includes {
		fmt.Fprintf(&b, "include: %s of %s at %s\n", in.From, in.Name, in.To)
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "problem: %s: %s\n", p.Field, p.Reason)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// specText prints which credentials there are, by their lengths.
func specText(s source.Spec, err error) string {
	if err != nil {
		var e *source.Error
		errors.As(err, &e)
		return fmt.Sprintf("error %s: %v\n", e.Reason, err)
	}
	a := s.Auth
	more := ""
	if s.Sparse != "" || s.Submodules {
		more = fmt.Sprintf("only: %q submodules=%t\n", s.Sparse, s.Submodules)
	}
	if s.Auth.AppID != "" {
		more += fmt.Sprintf("GitHub App: %s, installation %s%s, key %d, at %s\n", s.Auth.AppID, s.Auth.AppInstallation, s.Auth.AppOwner, len(s.Auth.AppKey), s.Auth.AppURL)
	}
	if a.Cloud != (provider.Identity{}) {
		more += fmt.Sprintf("cloud: %s token service=%q\n", a.Cloud, a.Cloud.TokenService)
	}
	if b := s.Bucket; b.API != provider.S3API {
		more += fmt.Sprintf("storage: %s by %q tenant=%q authority=%q chain=%q\n", b.API, b.Login, b.Tenant, b.Authority, b.Chain)
	}
	if s.Auth.Proxy != "" {
		more += fmt.Sprintf("proxy: %d\n", len(s.Auth.Proxy))
	}
	if v := s.Verify; v != (source.Verification{}) {
		more += fmt.Sprintf("verify: commit=%t tag=%t pgp=%q ssh=%q of %s\n", v.Commit, v.Tag, v.PGP, v.SSH, v.Secret)
	}
	ref := strings.NewReplacer(" Filter: ", " ", " Strict:false", "").Replace(fmt.Sprintf("%+v", s.Ref)) // most sources have none
	return more + fmt.Sprintf("fetch: %s %s ignore=%q timeout=%s\ncredentials: user=%d password=%d token=%d ca=%d cert=%d key=%d identity=%d passphrase=%d hosts=%d\n",
		s.URL, ref, s.Ignore, s.Timeout, len(a.Username), len(a.Password), len(a.BearerToken), len(a.CABundle),
		len(a.ClientCert), len(a.ClientKey), len(a.Identity), len(a.IdentityPassword), len(a.KnownHosts))
}

// reported reads a report as stories write it down.
func reported(t *testing.T, data string) report.Report {
	t.Helper()
	var in struct {
		report.Report
		Checks []struct {
			report.Object
			ID string
		}
		Leaving []string
		Objects []struct {
			report.Object
			ID       string // kind.group namespace/name, with - for none
			Findings []struct {
				Path, Verdict, Claimant, Reason string
				Desired, Live                   any
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(data), &in); err != nil {
		t.Fatal(err)
	}
	r := in.Report
	for _, s := range in.Leaving {
		r.Leaving = append(r.Leaving, report.ListedObject{ID: objectID(t, s), Version: "v1"})
	}
	for _, o := range in.Checks {
		o.Object.ID = objectID(t, o.ID)
		r.Checks = append(r.Checks, o.Object)
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

func fetched(t *testing.T, data string) dialect.SourceState {
	t.Helper()
	var in struct {
		Generation                int64
		Request, Revision, Digest string
		Running                   bool
		Verified                  string
		Included                  []source.Artifact
		Reason, Error             string
		Chart                     chart.Files
		Metadata                  map[string]string
		At                        time.Time
	}
	if err := yaml.UnmarshalStrict([]byte(data), &in); err != nil {
		t.Fatal(err)
	}
	s := dialect.SourceState{
		Generation: in.Generation, Request: in.Request, Running: in.Running, At: in.At,
		Artifact: source.Artifact{Revision: in.Revision, Digest: in.Digest, Verified: in.Verified, Included: in.Included, Metadata: in.Metadata, Chart: in.Chart},
	}
	if in.Error != "" {
		s.Err = &source.Error{Op: "fetch", Subject: "https://example.com/a.git", Reason: source.Reason(in.Reason), Err: errors.New(in.Error)}
	}
	return s
}
