package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestBucketsBecomeSpecs(t *testing.T) {
	golden.Run(t, "testdata/bucket/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		s := Buckets{}.Source(cr)
		spec, err := Buckets{}.Spec(cr, secretsOf(t, in["secrets.yaml"]))
		return sourceText(s) + bucketText(s, spec) + specText(spec, err)
	})
}

// bucketText is what the text of other specs does not have. The credentials here are no secrets.
func bucketText(s dialect.Source, spec source.Spec) string {
	if spec.URL == "" {
		return ""
	}
	b := spec.Bucket
	return fmt.Sprintf("also: %v\nbucket: %q prefix=%q region=%q keys=%q/%q proxy=%q\ntokens: %q user=%q/%q ca=%d\n",
		s.OtherSecrets, b.Name, b.Prefix, b.Region, spec.Auth.Username, spec.Auth.Password, spec.Auth.Proxy, b.Tokens, b.User.Username, b.User.Password, len(b.User.CABundle))
}

func TestFetchesOfBucketsBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/bucketstatus/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, state := given.Object(t, in.Need(t, "cr.yaml")), fetched(t, in.Need(t, "state.yaml"))
		first := Buckets{}.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := cmp.Diff(first, Buckets{}.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

func FuzzBucketNeverPanics(f *testing.F) {
	seeds(f, "testdata/bucket/*.txtar")
	seeds(f, "testdata/bucketstatus/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := Buckets{}.Source(cr)
		if s.Interval < time.Second || s.Timeout <= 0 {
			t.Errorf("a time that no loop survives: %v %v", s.Interval, s.Timeout)
		}
		const canary = "canary-7c1e"
		spec, err := Buckets{}.Spec(cr, source.Secrets{Main: map[string][]byte{"accesskey": []byte(canary), "secretkey": []byte(canary)}})
		if text := fmt.Sprintf("%v %+v", err, spec); strings.Contains(text, canary) {
			t.Errorf("a credential is in %s", text)
		}
		if err == nil && len(s.Problems) > 0 {
			t.Errorf("a refused source has a spec: %v", s.Problems)
		}
		stable(t, Buckets{}.Status(cr, dialect.SourceState{Artifact: source.Artifact{Revision: "a", Digest: "sha256:0"}, At: time.Unix(1, 0)}))
	})
}
