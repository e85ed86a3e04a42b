package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/charts"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// Each story says what is fetched for the repository itself, and for the chart of the HelmRelease beside it.
func TestHelmRepositoriesBecomeSpecs(t *testing.T) {
	golden.Run(t, "testdata/helmrepository/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, secrets := given.Object(t, in.Need(t, "cr.yaml")), secretsOf(t, in["secrets.yaml"])
		s := HelmRepositories{}.Source(cr)
		spec, err := HelmRepositories{}.Spec(cr, secrets)
		out := sourceText(s) + fmt.Sprintf("also: %v static=%t\n", s.OtherSecrets, s.Static) + helmText(spec, err)
		if in["release.yaml"] == "" {
			return out
		}
		a := HelmReleases{}.App(given.Object(t, in["release.yaml"]), policy.Policy{})
		out += fmt.Sprintf("reads: %s verify=%+v every %s problems=%v\n", a.Source, a.Source.Verify, a.SourceInterval, a.Problems)
		if err != nil || len(a.Problems) > 0 {
			return out
		}
		spec, err = charts.ChartSpecOf(spec, a.Source, "sha256:index", secrets)
		return out + helmText(spec, err)
	})
}

// helmText is a spec. The credentials here are no secrets.
func helmText(s source.Spec, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	ref := strings.ReplaceAll(fmt.Sprintf("%+v", s.Ref), " Strict:false", "") // it is of Git's tags
	text := fmt.Sprintf("kind=%s url=%s ref=%s chart=%+v timeout=%s insecure=%t\nlogin=%q/%q certificates=%d/%d/%d\n",
		s.Kind, s.URL, ref, s.Chart, s.Timeout, s.Insecure, s.Auth.Username, s.Auth.Password, len(s.Auth.CABundle), len(s.Auth.ClientCert), len(s.Auth.ClientKey))
	if s.Verify.Cosign != "" {
		text += fmt.Sprintf("cosign: %q\n", s.Verify.Cosign)
	}
	return text
}

func TestFetchesOfHelmRepositoriesBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/helmrepositorystatus/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, state := given.Object(t, in.Need(t, "cr.yaml")), fetched(t, in.Need(t, "state.yaml"))
		first := HelmRepositories{}.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := cmp.Diff(first, HelmRepositories{}.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

func FuzzHelmRepositoryNeverPanics(f *testing.F) {
	seeds(f, "testdata/helmrepository/*.txtar")
	seeds(f, "testdata/helmrepositorystatus/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := HelmRepositories{}.Source(cr)
		if s.Interval < time.Second || s.Timeout <= 0 {
			t.Errorf("a time that no loop survives: %v %v", s.Interval, s.Timeout)
		}
		const canary = "canary-7c1e"
		spec, err := HelmRepositories{}.Spec(cr, source.Secrets{Main: map[string][]byte{"username": []byte(canary), "password": []byte(canary)}})
		if text := fmt.Sprintf("%v %+v", err, spec); strings.Contains(text, canary) {
			t.Errorf("a credential is in %s", text)
		}
		if err == nil && len(s.Problems) > 0 {
			t.Errorf("a refused source has a spec: %v", s.Problems)
		}
		if s.Static && len(s.Problems) == 0 {
			return // it has no status
		}
		stable(t, HelmRepositories{}.Status(cr, dialect.SourceState{Artifact: source.Artifact{Revision: "a", Digest: "sha256:0"}, At: time.Unix(1, 0)}))
	})
}
