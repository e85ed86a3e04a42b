package flux

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestHelmChartsSayWhichChartIsMeant(t *testing.T) {
	golden.Run(t, "testdata/helmchart/*.txtar", func(t *testing.T, in golden.Files) string {
		s := HelmCharts{}.Source(given.Object(t, in.Need(t, "cr.yaml")))
		return sourceText(s) + fmt.Sprintf("from: %s verify=%+v\nchoice: %+v\nproblems: %v\n", s.Chart.From, s.Chart.From.Verify, s.Chart, s.Problems)
	})
}

func TestLooksAtHelmChartsBecomeStatus(t *testing.T) {
	golden.Run(t, "testdata/helmchartstatus/*.txtar", func(t *testing.T, in golden.Files) string {
		cr, state := given.Object(t, in.Need(t, "cr.yaml")), fetched(t, in.Need(t, "state.yaml"))
		first := HelmCharts{}.Status(cr, state)
		cr["status"] = object.CloneValue(first)
		state.At = state.At.Add(time.Hour)
		if diff := cmp.Diff(first, HelmCharts{}.Status(cr, state)); diff != "" {
			t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
		}
		return text(t, first)
	})
}

func FuzzHelmChartNeverPanics(f *testing.F) {
	seeds(f, "testdata/helmchart/*.txtar")
	seeds(f, "testdata/helmchartstatus/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := HelmCharts{}.Source(cr)
		if s.Interval < time.Second || s.Chart == nil {
			t.Errorf("%s every %v is a chart of %v", s.Key, s.Interval, s.Chart)
		}
		if len(s.Problems) == 0 && s.Chart.From.Namespace != cr.Namespace() {
			t.Errorf("%s is a chart of %s", s.Key, s.Chart.From)
		}
		stable(t, HelmCharts{}.Status(cr, dialect.SourceState{Artifact: source.Artifact{Revision: "a", Digest: "sha256:0"}, At: time.Unix(1, 0)}))
	})
}
