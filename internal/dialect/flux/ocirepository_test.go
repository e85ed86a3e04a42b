package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestOCIRepositoriesBecomeSpecs(t *testing.T) {
	golden.Run(t, "testdata/oci/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		s := OCIRepositories{}.Source(cr)
		spec, err := OCIRepositories{}.Spec(cr, secretsOf(t, in["secrets.yaml"]))
		text := sourceText(s) + ociText(spec) + specText(spec, err)
		if len(s.OtherSecrets) > 0 || s.ServiceAccount != "" {
			text = fmt.Sprintf("also: %v account=%q\n", s.OtherSecrets, s.ServiceAccount) + text
		}
		return text
	})
}

// ociText is what the text of other specs does not have. The credentials here are no secrets.
func ociText(s source.Spec) string {
	if s.URL == "" {
		return ""
	}
	text := fmt.Sprintf("oci: media=%q whole=%t insecure=%t login=%q/%q refresh=%q proxy=%q\n",
		s.MediaType, s.Whole, s.Insecure, s.Auth.Username, s.Auth.Password, s.Auth.RefreshToken, s.Auth.Proxy)
	if s.PlusTags {
		text += "an underscore in a tag is a plus\n"
	}
	if v := s.Verify; v.By != "" {
		text += fmt.Sprintf("signed: by=%q keys=%q identities=%s root=%q policy=%q certificates=%q of %q\n",
			v.By, v.Cosign, v.Identities, v.TrustedRoot, v.Policy, v.Certificates, v.Secret)
	}
	return text
}

// secretsOf reads the Secrets of a story: main, other by name, and pull, in plain text.
func secretsOf(t *testing.T, data string) source.Secrets {
	t.Helper()
	var in struct {
		Main  map[string]string
		Other map[string]map[string]string
		Pull  []map[string]string
	}
	if err := yaml.UnmarshalStrict([]byte(data), &in); err != nil {
		t.Fatal(err)
	}
	bytesOf := func(m map[string]string) map[string][]byte {
		if m == nil {
			return nil
		}
		out := map[string][]byte{}
		for k, v := range m {
			out[k] = []byte(v)
		}
		return out
	}
	out := source.Secrets{Main: bytesOf(in.Main), Other: map[string]map[string][]byte{}}
	for name, m := range in.Other {
		out.Other[name] = bytesOf(m)
	}
	for _, m := range in.Pull {
		out.Pull = append(out.Pull, bytesOf(m))
	}
	return out
}

func TestFetchesOfArtifactsBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/ocistatus/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, state := given.Object(t, in.Need(t, "cr.yaml")), fetched(t, in.Need(t, "state.yaml"))
		first := OCIRepositories{}.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := cmp.Diff(first, OCIRepositories{}.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

func TestACredentialOfAPullSecretIsForItsRegistryAlone(t *testing.T) {
	for name, c := range map[string]struct{ at, want string }{
		"registry.example.com":             {"registry.example.com/team/app", "1"},
		"https://registry.example.com/v2/": {"registry.example.com/team/app", "1"},
		"REGISTRY.example.com":             {"registry.example.com/team/app", "1"},
		"registry.example.com/team":        {"registry.example.com/team/app", "1"},
		"registry.example.com/te":          {"registry.example.com/team/app", ""},
		"registry.example.com/other":       {"registry.example.com/team/app", ""},
		"*.example.com":                    {"registry.example.com/team/app", "1"},
		"*.com":                            {"registry.example.com/team/app", ""},
		"*":                                {"registry.example.com/team/app", ""},
		"example.com":                      {"registry.example.com/team/app", ""},
		"registry.example.com.evil":        {"registry.example.com/team/app", ""},
		"registry.example.com:443":         {"registry.example.com/team/app", ""},
		"registry.example.com:5000":        {"registry.example.com:5000/app", "1"},
		"https://index.docker.io/v1/":      {"docker.io/library/nginx", "1"},
		"docker.io":                        {"index.docker.io/library/nginx", "1"},
	} {
		config := fmt.Sprintf(`{"auths": {%q: {"username": "1", "password": "2"}}}`, name)
		got, lack := pullCredentials([]map[string][]byte{{dockerConfig: []byte(config)}}, c.at)
		if got.Username != c.want || lack != "" {
			t.Errorf("%s for %s: %q %s", name, c.at, got.Username, lack)
		}
	}
}

// TestOfTwoEntriesForOneRegistryTheFirstIsUsed: else each fetch may log in as another.
func TestOfTwoEntriesForOneRegistryTheFirstIsUsed(t *testing.T) {
	config := []byte(`{"auths": {"registry.example.com": {"username": "b"}, "https://registry.example.com/v2/": {"username": "c"}, "https://registry.example.com": {"username": "a"}}}`)
	for range 50 {
		if got, lack := pullCredentials([]map[string][]byte{{dockerConfig: config}}, "registry.example.com/app"); got.Username != "a" || lack != "" {
			t.Fatalf("%q %s", got.Username, lack)
		}
	}
}

func FuzzOCIRepositoryNeverPanics(f *testing.F) {
	seeds(f, "testdata/oci/*.txtar")
	seeds(f, "testdata/ocistatus/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := OCIRepositories{}.Source(cr)
		if s.Interval < time.Second || s.Timeout <= 0 {
			t.Errorf("a time that no loop survives: %v %v", s.Interval, s.Timeout)
		}
		const canary = "canary-7c1e"
		config := fmt.Sprintf(`{"auths": {"*.example.com": {"username": %q, "password": %q}}}`, canary, canary)
		spec, err := OCIRepositories{}.Spec(cr, source.Secrets{Main: map[string][]byte{dockerConfig: []byte(config)}})
		if text := fmt.Sprintf("%v %+v", err, spec); strings.Contains(text, canary) {
			t.Errorf("a credential is in %s", text)
		}
		if err == nil && len(s.Problems) > 0 {
			t.Errorf("a refused source has a spec: %v", s.Problems)
		}
		stable(t, OCIRepositories{}.Status(cr, dialect.SourceState{Artifact: source.Artifact{Revision: "a", Digest: "sha256:0"}, At: time.Unix(1, 0)}))
	})
}

func FuzzPullSecretNeverPanics(f *testing.F) {
	f.Add([]byte(`{"auths": {"*.example.com/a": {"auth": "YTpi"}}}`), "x.example.com/a/b")
	f.Add([]byte(`{"auths": {"[": {"auth": "!"}}}`), "[/")
	f.Fuzz(func(_ *testing.T, data []byte, at string) {
		pullCredentials([]map[string][]byte{{dockerConfig: data}, {oldDockerConfig: data}}, at)
	})
}
