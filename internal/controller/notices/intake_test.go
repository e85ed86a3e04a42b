package notices

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

var chatKey = route.Key{Namespace: "shop", Name: "chat"}

// listeningOutlet is an Outlet with one Alert for the Kustomizations of a namespace, at work until the test ends. Each Application has a commit read.
func listeningOutlet(t *testing.T, store *outbox.Store, read ReadCommit) *Outlet {
	t.Helper()
	o, ctx := judgingOutlet(t, store, map[string]string{
		"service.webex":  "token: none",
		"subscriptions":  "- {recipients: [webex:room], triggers: [by-ann]}\n",
		"trigger.by-ann": "- {when: repo.GetCommitMetadata('1').Author == 'ann', send: [short]}\n",
		"template.short": "message: by ann\n",
	})
	o.Commit = read
	o.alerts[chatKey] = alertEntry{alert: route.Alert{Key: chatKey, Provider: "chat", Sources: []route.Source{{Kind: "Kustomization", Name: "*", Namespace: "shop"}}}}
	o.providers[chatKey] = providerEntry{provider: route.Provider{Key: chatKey, Type: "slack"}}
	go o.work(ctx)
	return o
}

func openStore(t *testing.T) *outbox.Store {
	t.Helper()
	store, err := outbox.OpenStore(filepath.Join(t.TempDir(), "notifications"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func textMessage(text string) notify.Message {
	about := object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "shop", Name: "web"}
	return notify.Message{Event: notify.Event{Severity: notify.Error, Reason: "Recreated", Text: text}, About: about, At: time.Now()}
}

// await waits until all are idle, and fails unless so many messages are in the file.
func (o *Outlet) await(t *testing.T, when string, want int) {
	t.Helper()
	synctest.Wait()
	if got, _, err := o.Store.Pending(chatKey); err != nil || len(got) != want {
		t.Errorf("%s: %d messages are stored, want %d (%v)", when, len(got), want, err)
	}
}

// storeIn has the next flush write to a store: under the lock that it takes before it writes.
func (o *Outlet) storeIn(store *outbox.Store) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Store = store
}

// TestACommitThatIsReadHoldsUpNoMessage: a read hangs until its time is over.
func TestACommitThatIsReadHoldsUpNoMessage(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		o := listeningOutlet(t, store, func(ctx context.Context, _ app.Key, _ string) (subscription.Commit, bool, error) {
			reads++
			<-ctx.Done()
			return subscription.Commit{}, false, ctx.Err()
		})
		o.onApplication(webApplication(nil))
		synctest.Wait()
		begin := time.Now()
		o.Accept(textMessage("news"))
		o.await(t, "while a commit is read", 1)
		if reads != 1 || time.Since(begin) != 0 {
			t.Errorf("%d commits are read, after %s", reads, time.Since(begin))
		}
	})
}

// TestWhatCannotBeStoredWaits: the file takes nothing for a while.
func TestWhatCannotBeStoredWaits(t *testing.T) {
	store, full := openStore(t), openStore(t)
	if err := full.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		synctest.Wait()
		o.storeIn(full)
		o.Accept(textMessage("first"))
		synctest.Wait()
		o.Accept(textMessage("second"))
		synctest.Wait()
		o.storeIn(store)
		o.await(t, "before the next try", 0)
		<-time.After(storePause)
		o.await(t, "after it", 2)
	})
}

// TestAMessageThatIsLongKeepsNoOtherFromTheFile: the API server quotes a whole template of pods in a refusal, and the file takes no key of that length.
func TestAMessageThatIsLongKeepsNoOtherFromTheFile(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		for _, text := range []string{"short", strings.Repeat("long", 10000), strings.Repeat("long", 10000)} {
			o.Accept(textMessage(text))
		}
		o.await(t, "two that differ", 2)
	})
}

// TestWhatMayHaveBeenSentIsNewsOnlyWhereItChangesAMatter: an earlier process has said it, or has ended before.
func TestWhatMayHaveBeenSentIsNewsOnlyWhereItChangesAMatter(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		o.AcceptAgain(failure(notify.Ends))
		o.AcceptAgain(textMessage("of no matter"))
		o.await(t, "nothing has failed", 0)
		o.AcceptAgain(failure(notify.Opens))
		o.await(t, "it fails", 1)
		other := failure(notify.Opens)
		other.Matter.Form, other.Text = "another", "another"
		o.AcceptAgain(other)
		o.await(t, "it fails still", 1)
		o.AcceptAgain(failure(notify.Ends))
		o.await(t, "it has recovered", 2)
	})
}
