package report_test

import (
	"strings"
	"testing"
)

// FuzzSaid reads what anybody who may write a status could have put there.
func FuzzSaid(f *testing.F) {
	f.Add(fought(int64(8), "2 times").Contested(3).Text)
	f.Add("Deployment.apps shop/a .spec.replicas: 3 (Git) vs nothing (live, set by ): ; the next try is at 2026")
	f.Add("Deployment.apps shop/a .spec.replicas: 3 (Git) vs [1,\"…")
	f.Fuzz(func(t *testing.T, text string) {
		o := fought(int64(8), "2 times").Objects[0]
		for _, finding := range o.Findings {
			if said := finding.EvidenceReason(text, o.ID); !strings.Contains(text, said) {
				t.Errorf("%q: it does not say %q", text, said)
			}
			finding.Path = nil
			finding.EvidenceReason(text, o.ID)
		}
	})
}
