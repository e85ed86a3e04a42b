package flux

import (
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func TestAnExternalArtifactIsWhatItsStatusNames(t *testing.T) {
	const head = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: web, namespace: apps}\nspec: {}\n"
	for name, c := range map[string]struct {
		cr, want string
		err      bool
	}{
		"nothing yet":      {head, "", true},
		"without a digest": {head + "status: {artifact: {url: 'http://x/a.tar.gz', revision: r, path: '', lastUpdateTime: null}}", "", true},
		"an artifact":      {head + "status: {artifact: {url: 'http://x/a.tar.gz', revision: r, digest: 'sha256:00', path: p, lastUpdateTime: '2026-01-01T00:00:00Z', metadata: {org.opencontainers.image.revision: o}}}", "http://x/a.tar.gz sha256:00 r o", false},
		"a wrong status":   {head + "status: {artifact: [1]}", "", true},
	} {
		cr := given.Object(t, c.cr)
		s := ExternalArtifacts{}.Source(cr)
		spec, err := ExternalArtifacts{}.Spec(cr, source.Secrets{})
		got := ""
		if err == nil {
			got = spec.URL + " " + spec.Ref.Name + " " + spec.Ref.Tag + " " + spec.Origin
		}
		if got != c.want || (err != nil) != c.err || s.Interval <= 0 || len(s.Problems) > 0 {
			t.Errorf("%s: %q, %v, %v", name, got, err, s.Problems)
		}
		if (ExternalArtifacts{}).Status(cr, dialect.SourceState{}) != nil {
			t.Errorf("%s: the status of another controller is written", name)
		}
	}
}

func FuzzExternalArtifactNeverPanics(f *testing.F) {
	f.Add([]byte("apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: a, namespace: b}\nstatus: {artifact: {url: 'http://x', digest: 'sha256:00', revision: r}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := ExternalArtifacts{}.Source(cr)
		spec, err := ExternalArtifacts{}.Spec(cr, source.Secrets{})
		if s.Interval <= 0 || err == nil && (len(s.Problems) > 0 || spec.Ref.Name == "" || spec.URL == "") {
			t.Errorf("%+v has the spec %+v", s, spec)
		}
	})
}
