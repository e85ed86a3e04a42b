package findings

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// TestTheLiveValueIsADetail of a difference that stays: another controller may write it every few seconds. What Git wants is its form.
func TestTheLiveValueIsADetail(t *testing.T) {
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	of := func(verdict decide.Verdict, git, live int64) notify.Matter {
		return MatterOf(id, report.Finding{Verdict: verdict, Desired: git, Live: live})
	}
	was, written, committed := of(decide.Hold, 3, 5), of(decide.Hold, 3, 6), of(decide.Hold, 4, 5)
	if was.Form != written.Form || was.Detail == written.Detail || was.Form == committed.Form {
		t.Errorf("%+v, then %+v, and with another commit %+v", was, written, committed)
	}
	if m := of(decide.Contested, 3, 5); m.Detail != "" {
		t.Errorf("a fight has the detail %q", m.Detail)
	}
}
