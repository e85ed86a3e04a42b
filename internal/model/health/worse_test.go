package health_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/health"
)

func TestTheWorseOfTwoHealthsIsTheFirstOfEqualOnes(t *testing.T) {
	order := []health.Code{"", health.Healthy, health.Suspended, health.Progressing, health.Missing, health.Degraded, health.Unknown}
	for i, a := range order {
		for j, b := range order {
			first, second := health.Status{Code: a, Message: "first"}, health.Status{Code: b, Message: "second"}
			want := first
			if j > i {
				want = second
			}
			if got := first.Worse(second); got != want {
				t.Errorf("%q and %q: %+v", a, b, got)
			}
		}
	}
	odd := health.Status{Code: "Sick", Message: "first"}
	if got := odd.Worse(health.Status{Code: health.Unknown}); got != odd {
		t.Errorf("a word that is none of the six stands beside Unknown: %+v", got)
	}
	if got := odd.Worse(health.Status{Code: health.Degraded}); got != odd {
		t.Errorf("a word that is none of the six stands beside Unknown: %+v", got)
	}
}
