package lifecycle

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

func TestDecide(t *testing.T) {
	deployed := Stored{Revision: 1, Status: hook.Deployed, Tests: TestsPassed}
	failed := Stored{Revision: 2, Status: hook.FailedRelease, Tests: Untested}
	once := remedy.Attempts{All: 1, Upgrade: 1, Action: string(hook.Upgrade)}
	installed := remedy.Attempts{All: 1, Install: 1, Action: string(hook.Install)}
	roll := remedy.Remedy{OnFailure: remedy.RollBackOnFailure, Retries: 1, Last: remedy.RemedyLast}
	remove := remedy.Remedy{OnFailure: remedy.UninstallOnFailure, Retries: 1}
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"nothing is there", Input{}, "absent install 0 "},
		{"it was uninstalled, and its history kept", Input{Stored: []Stored{{Revision: 3, Status: hook.Uninstalled}}}, "absent install 0 "},
		{"the install has failed too often and was uninstalled", Input{Attempts: installed}, "absent  0 RetriesExceeded"},
		{"the install has failed, and is tried again", Input{Attempts: installed, Spec: release.Spec{AfterInstall: remove}}, "absent install 0 "},
		{"the upgrade has failed too often and was uninstalled", Input{Attempts: once}, "absent install 0 "},
		{"it was uninstalled for that, with its history kept, and the install has failed", Input{Stored: []Stored{{Revision: 3, Status: hook.Uninstalled}}, Attempts: remedy.Attempts{Upgrade: 1, Install: 1, Action: string(hook.Install)}}, "absent  0 RetriesExceeded"},
		{"a process was killed", Input{Stored: []Stored{{Revision: 1, Status: hook.PendingInstall}}, Wanted: true}, "pending  0 "},
		{"a process was killed, and something else is wanted", Input{Stored: []Stored{{Revision: 1, Status: hook.PendingInstall}}}, "replaced upgrade 0 "},
		{"a process was killed in a rollback", Input{Stored: []Stored{{Revision: 3, Status: hook.PendingRollback}}}, "pending  0 "},
		{"a process was killed in an uninstall", Input{Stored: []Stored{{Revision: 3, Status: hook.Uninstalling}}, Wanted: true}, "pending  0 "},
		{"a helm was killed", Input{Stored: []Stored{{Revision: 2, Status: hook.PendingUpgrade, ByOthers: true}}, Wanted: true}, "replaced upgrade 0 "},
		{"a helm was killed in a rollback", Input{Stored: []Stored{{Revision: 3, Status: hook.PendingRollback, ByOthers: true}}}, "replaced upgrade 0 "},
		{"a helm was killed in an uninstall", Input{Stored: []Stored{{Revision: 3, Status: hook.Uninstalling, ByOthers: true}}, Wanted: true}, "replaced upgrade 0 "},
		{"something else is deployed", Input{Stored: []Stored{deployed}}, "outofsync upgrade 0 "},
		{"a chart of another name is deployed", Input{Stored: []Stored{deployed}, Renamed: true}, "renamed uninstall 0 "},
		{"a chart of another name is being uninstalled", Input{Stored: []Stored{{Revision: 1, Status: hook.Uninstalling}}, Renamed: true}, "pending  0 "},
		{"a release of another name is deployed", Input{Stored: []Stored{deployed}, Moved: true}, "renamed uninstall 0 "},
		{"a release of another name was being upgraded", Input{Stored: []Stored{{Revision: 2, Status: hook.PendingUpgrade}}, Moved: true}, "renamed uninstall 0 "},
		{"a release of another name has failed", Input{Stored: []Stored{failed, deployed}, Attempts: once, Moved: true}, "renamed uninstall 0 "},
		{"a release of another name is being uninstalled", Input{Stored: []Stored{{Revision: 1, Status: hook.Uninstalling}}, Moved: true}, "pending  0 "},
		{"a helm was killed that uninstalled one of another name", Input{Stored: []Stored{{Revision: 1, Status: hook.Uninstalling, ByOthers: true}}, Moved: true}, "renamed uninstall 0 "},
		{"it was rolled back, and no try is left", Input{Stored: []Stored{deployed}, Attempts: once}, "outofsync  0 RetriesExceeded"},
		{"it was rolled back, no try is left, and one is asked for", Input{Stored: []Stored{deployed}, Attempts: once, Forced: true}, "outofsync upgrade 0 "},
		{"it has failed, no try is left, and one is asked for", Input{Stored: []Stored{failed, deployed}, Attempts: once, Forced: true}, "outofsync upgrade 0 "},
		{"the install was uninstalled, no try is left, and one is asked for", Input{Attempts: installed, Forced: true}, "absent install 0 "},
		{"it was rolled back, and a try is left", Input{Stored: []Stored{deployed}, Attempts: once, Spec: release.Spec{AfterUpgrade: roll}}, "outofsync upgrade 0 "},
		{"an upgrade has failed, without a remedy", Input{Stored: []Stored{failed, deployed}, Wanted: true, Attempts: once}, "failed  0 RetriesExceeded"},
		{"an upgrade has failed", Input{Stored: []Stored{failed, deployed}, Wanted: true, Attempts: once, Spec: release.Spec{AfterUpgrade: roll}}, "failed rollback 1 "},
		{"an upgrade has failed before that worked", Input{Stored: []Stored{failed, {Revision: 1, Status: hook.FailedRelease}}, Wanted: true, Attempts: once, Spec: release.Spec{AfterUpgrade: roll}}, "failed  0 MissingRollbackTarget"},
		{"the release before has failed its tests", Input{Stored: []Stored{failed, {Revision: 1, Status: hook.Superseded, Tests: TestsFailed}}, Wanted: true, Attempts: once, Spec: release.Spec{AfterUpgrade: roll}}, "failed  0 MissingRollbackTarget"},
		{"nothing worked since it was uninstalled", Input{Stored: []Stored{{Revision: 4, Status: hook.FailedRelease}, {Revision: 3, Status: hook.FailedRelease}, {Revision: 2, Status: hook.Uninstalled}, {Revision: 1, Status: hook.Superseded, Tests: TestsPassed}}, Wanted: true, Attempts: once, Spec: release.Spec{AfterUpgrade: roll}}, "failed  0 MissingRollbackTarget"},
		{"an upgrade has failed that is retried", Input{Stored: []Stored{failed, deployed}, Wanted: true, Attempts: once, Spec: release.Spec{AfterUpgrade: remedy.Remedy{OnFailure: remedy.RetryOnFailure}}}, "failed upgrade 0 "},
		{"the counters were reset", Input{Stored: []Stored{failed, deployed}, Wanted: true}, "failed upgrade 0 "},
		{"an install has failed", Input{Stored: []Stored{{Revision: 1, Status: hook.FailedRelease}}, Wanted: true, Attempts: installed, Spec: release.Spec{AfterInstall: remove}}, "failed uninstall 0 "},
		{"tests are asked for", Input{Stored: []Stored{{Revision: 1, Status: hook.Deployed, Tests: Untested}}, Wanted: true, Spec: release.Spec{TestPolicy: remedy.RunTests}}, "untried test 0 "},
		{"tests are not asked for", Input{Stored: []Stored{{Revision: 1, Status: hook.Deployed, Tests: Untested}}, Wanted: true}, "insync  0 "},
		{"tests have failed", Input{Stored: []Stored{{Revision: 2, Status: hook.Deployed, Tests: TestsFailed}, deployed}, Wanted: true, Attempts: once, Spec: release.Spec{TestPolicy: remedy.RunTests, AfterUpgrade: roll}}, "failed rollback 1 "},
		{"tests have failed, which is ignored", Input{Stored: []Stored{{Revision: 2, Status: hook.Deployed, Tests: TestsFailed}, deployed}, Wanted: true, Attempts: once, Spec: release.Spec{TestPolicy: remedy.RunTests, AfterUpgrade: remedy.Remedy{Tests: remedy.IgnoreTests}}}, "insync  0 "},
		{"all is well", Input{Stored: []Stored{deployed}, Wanted: true}, "insync  0 "},
	} {
		d := Decide(c.in)
		if got := fmt.Sprintf("%s %s %d %s", d.State, d.Action, d.Target, d.Blocked); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
