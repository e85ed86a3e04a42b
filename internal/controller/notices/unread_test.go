package notices

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// oneSecret has the Secret token, and fails for every other object with an error that quotes it.
type oneSecret struct{ live.Reader }

func (oneSecret) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	if id.Name != "token" {
		return nil, errors.New("the server says CANARY-token")
	}
	return object.Object{"data": map[string]any{"token": base64.StdEncoding.EncodeToString([]byte("CANARY-token"))}}, nil
}

// noWatcher watches nothing.
type noWatcher struct{ live.Watcher }

func (noWatcher) Watch(context.Context, live.Interest, func(live.Event)) live.Watch { return nil }

// statesOnly writes of a status why messages do not go out.
type statesOnly struct {
	Dialect
	states chan string
}

func (d statesOnly) Status(_ object.Object, s route.State) map[string]any {
	if s.Failing != "" {
		d.states <- s.Failing
	}
	return map[string]any{"failing": s.Failing}
}

// failingOutlet is an Outlet that sends at once, and writes statuses; it returns the Events, and why Providers fail.
func failingOutlet(t *testing.T, config map[string]string) (o *Outlet, events, states <-chan string) {
	t.Helper()
	o, ctx := judgingOutlet(t, openStore(t), config)
	o.deliverer.Windows = deliver.Windows{}
	o.Cluster, events = eventCluster(t)
	all := make(chan string, 10)
	o.Live, o.Dialect = oneSecret{}, statesOnly{states: all}
	o.rotations.watcher = noWatcher{}
	o.rotations.start(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.writeStatuses(ctx)
	}()
	t.Cleanup(func() { <-ended }) // after the context has ended
	return o, events, all
}

func awaitText(t *testing.T, texts <-chan string) string {
	t.Helper()
	select {
	case text := <-texts:
		return text
	case <-time.After(time.Minute):
		t.Fatal("nothing is shown")
		return ""
	}
}

// TestAProviderThatCannotBeReadIsShown: in its status and by an Event, without a credential.
func TestAProviderThatCannotBeReadIsShown(t *testing.T) {
	o, events, states := failingOutlet(t, nil)
	cr := object.Object{"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": registry.Providers.Kind, "metadata": map[string]any{"name": "chat", "namespace": "shop"}}
	o.providers[chatKey] = providerEntry{cr: cr, provider: route.Provider{Key: chatKey, Type: "slack", Secret: "token", Certificates: "ca"}}
	if err := o.Store.Update(func(tx *outbox.Tx) error { return tx.Push(chatKey, route.Note{Message: textMessage("news")}) }); err != nil {
		t.Fatal(err)
	}
	o.deliverer.Wake(chatKey)
	for _, text := range []string{awaitText(t, states), strings.TrimPrefix(awaitText(t, events), "NotificationFailed: ")} {
		if !strings.HasPrefix(text, "read ") || !strings.Contains(text, "shop/ca: the server says") || strings.Contains(text, "CANARY") {
			t.Errorf("shown is %q", text)
		}
	}
}

// TestAServiceThatCannotBeReadIsShown: by an Event on the ConfigMap, without a credential.
func TestAServiceThatCannotBeReadIsShown(t *testing.T) {
	o, events, _ := failingOutlet(t, map[string]string{
		"service.webex":  "token: [$token]",
		"subscriptions":  "- {recipients: [webex:room], triggers: [always]}\n",
		"trigger.always": "- {when: 'true', send: [short]}\n",
		"template.short": "message: x\n",
	})
	o.subscribers.mu.Lock()
	o.subscribers.settings.secret = map[string][]byte{"token": []byte("CANARY-token")}
	o.subscribers.cr = object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": argoConfig, "namespace": argoNamespace}}
	o.subscribers.mu.Unlock()
	o.onApplication(webApplication(nil))
	o.judgeApplications(t.Context())
	if got, want := awaitText(t, events), "NotificationFailed: service.webex to room: a setting is of another type"; got != want {
		t.Errorf("the Event is %q, want %q", got, want)
	}
}
