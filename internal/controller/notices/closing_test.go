package notices

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// TestWhatEndsWhileAProviderIsFaultyIsClosedLater: an app fails, and recovers while the spec of the Provider is wrong.
func TestWhatEndsWhileAProviderIsFaultyIsClosedLater(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		synctest.Wait()
		change := func(problems ...app.Problem) {
			o.mu.Lock()
			o.providers[chatKey] = providerEntry{provider: route.Provider{Key: chatKey, Type: "pagerduty", Problems: problems}}
			o.resumed = true
			o.mu.Unlock()
			signalChange(o.come)
		}
		say := func(phase notify.Phase) {
			m := textMessage("no such file")
			m.Matter = notify.Matter{Kind: matter.Failure, Phase: phase, Form: "no such file"}
			o.Accept(m)
		}
		change()
		say(notify.Opens)
		o.await(t, "it fails", 1)
		change(app.Problem{Field: "spec.address", Reason: "is no URL"})
		say(notify.Ends)
		o.await(t, "it recovers, and the Provider is faulty", 1)
		<-time.After(2 * matter.Repeat)
		o.Accept(textMessage("other news"))
		o.await(t, "what is over is forgotten", 1)
		change()
		o.await(t, "the Provider is repaired", 2)
		change()
		o.await(t, "it is changed again", 2)
	})
}
