package notices

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// TestAFieldThatIsWrittenAgainAndAgainIsOneMessageInRepeat: the newest value is said when that is over, also by a later process, and the end at once.
func TestAFieldThatIsWrittenAgainAndAgainIsOneMessageInRepeat(t *testing.T) {
	store := openStore(t)
	say := func(o *Outlet, phase notify.Phase, value int) {
		m := textMessage(fmt.Sprint("it is ", value))
		m.Matter = notify.Matter{Kind: matter.Drift, Object: "Deployment shop/web", Field: ".spec.replicas", Phase: phase}
		if phase == notify.Opens {
			m.Matter.Form, m.Matter.Detail = "git wants 3", fmt.Sprint(value)
		}
		o.Accept(m)
	}
	newest := func(o *Outlet, want string) {
		t.Helper()
		if got, _, err := o.Store.Pending(chatKey); err != nil || got[len(got)-1].Message.Text != want {
			t.Errorf("the newest message is %q, want %q (%v)", got[len(got)-1].Message.Text, want, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		synctest.Wait()
		begin := time.Now()
		for value := range 20 {
			say(o, notify.Opens, value)
			o.await(t, "while it is written every ten seconds", 1)
			<-time.After(10 * time.Second)
		}
		<-time.After(matter.Repeat - time.Since(begin) - time.Second)
		o.await(t, "before the time is over", 1)
		<-time.After(time.Second)
		o.await(t, "when it is over", 2)
		newest(o, "it is 19")
		<-time.After(2 * matter.Repeat)
		o.await(t, "long after that", 2)
		say(o, notify.Opens, 20)
		o.await(t, "another value, long after the one before", 3)
		say(o, notify.Opens, 21)
		say(o, notify.Ends, 0)
		o.await(t, "the end", 4)
		say(o, notify.Opens, 22)
		o.await(t, "it differs again", 5)
		say(o, notify.Opens, 23)
		o.await(t, "and once more", 5)
	})
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil) // the clock of the bubble begins again: the message before was in the future
		o.await(t, "in the next process", 5)
		<-time.After(4 * matter.Repeat)
		o.await(t, "when the time is over", 6)
		newest(o, "it is 23")
	})
}
