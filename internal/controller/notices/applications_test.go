package notices

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
)

// projectServer has no AppProject, and fails for some names. It is asked by one goroutine at a time.
type projectServer struct {
	live.Reader
	fails map[string]bool
	asked map[string]int
}

func (s *projectServer) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	s.asked[id.Name]++
	if s.fails[id.Name] || strings.Contains(id.Name, "/") { // client-go sends no such request
		return nil, errors.New("invalid resource name")
	}
	return nil, live.ErrNotFound
}

// subscribedOutlet is an Outlet to which each Application has one message for a room.
func subscribedOutlet(t *testing.T, store *outbox.Store) (*Outlet, context.Context) {
	t.Helper()
	return judgingOutlet(t, store, map[string]string{
		"service.webex":  "token: none",
		"subscriptions":  "- {recipients: [webex:room], triggers: [always]}\n",
		"trigger.always": "- {when: 'true', send: [short]}\n",
		"template.short": "message: '{{.app.metadata.name}}'\n",
	})
}

// sentOf returns about which Applications messages wait for the room.
func sentOf(t *testing.T, o *Outlet) string {
	t.Helper()
	items, _, err := o.Store.Pending(o.subscribers.keyOf("webex", "room"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range items {
		names = append(names, i.Message.About.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func applicationOf(name, project string, annotations map[string]any) live.Event {
	return live.Event{ID: object.ID{Group: "argoproj.io", Kind: "Application", Namespace: argoNamespace, Name: name}, Object: object.Object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name, "namespace": argoNamespace, "annotations": annotations},
		"spec": map[string]any{"project": project},
	}}
}

// TestAProjectThatCannotBeReadConcernsItsOwnApplicationsAlone: a name that no AppProject can have is asked for never, and one that cannot be read once in a look.
func TestAProjectThatCannotBeReadConcernsItsOwnApplicationsAlone(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o, ctx := subscribedOutlet(t, store)
		server := &projectServer{fails: map[string]bool{"away": true}, asked: map[string]int{}}
		o.Live = server
		for name, project := range map[string]string{"odd": "team/shop", "dots": "..", "a": "away", "b": "away", "well": "shop", "none": ""} {
			o.onApplication(applicationOf(name, project, nil))
		}
		if pause, sent := o.judgeApplications(ctx), sentOf(t, o); pause != configAge || sent != "dots none odd well" {
			t.Errorf("sent about %q, the next look comes in %s", sent, pause)
		}
		if want := map[string]int{"away": 1, "shop": 1}; !maps.Equal(server.asked, want) {
			t.Errorf("asked for %v, want %v", server.asked, want)
		}
		<-time.After(configAge)
		clear(server.fails)
		if pause, sent := o.judgeApplications(ctx), sentOf(t, o); pause != 0 || sent != "a b dots none odd well" {
			t.Errorf("later: sent about %q, the next look comes in %s", sent, pause)
		}
	})
}

// eventCluster is a cluster whose API server knows Events alone, and puts their notes into a channel.
func eventCluster(t *testing.T) (*cluster.Client, <-chan string) {
	t.Helper()
	notes := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch body, _ := io.ReadAll(r.Body); {
		case r.Method == http.MethodGet && r.URL.Path == "/apis/events.k8s.io/v1":
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"events.k8s.io/v1","resources":[{"name":"events","kind":"Event","namespaced":true,"verbs":["create"]}]}`)
		case r.Method == http.MethodPost:
			var ev struct{ Reason, Note string }
			if err := json.Unmarshal(body, &ev); err != nil {
				t.Error(err)
			}
			notes <- ev.Reason + ": " + ev.Note
			_, _ = w.Write(body)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, notes
}

// TestARecipientThatIsTooLongConcernsItsOwnSubscriptionAlone: the file takes no key of that length.
func TestARecipientThatIsTooLongConcernsItsOwnSubscriptionAlone(t *testing.T) {
	o, ctx := subscribedOutlet(t, openStore(t))
	var notes <-chan string
	o.Cluster, notes = eventCluster(t)
	o.onApplication(applicationOf("well", "", nil))
	o.onApplication(applicationOf("long", "", map[string]any{"notifications.argoproj.io/subscribe.always.webex": strings.Repeat("r", 40<<10)}))
	if pause, sent := o.judgeApplications(ctx), sentOf(t, o); pause != 0 || sent != "long well" {
		t.Errorf("sent about %q, the next look comes in %s", sent, pause)
	}
	want := "NotificationFailed: subscription always.webex:" + strings.Repeat("r", 40) + "…: the recipient is longer than 1024 bytes"
	select {
	case note := <-notes:
		if note != want {
			t.Errorf("the Event is %q, want %q", note, want)
		}
	default:
		t.Error("no Event names the subscription")
	}
}

// TestTenantsDoNotSubscribe: a message of Argo CD's services is sent with the administrators' tokens, to a recipient that the annotation names.
func TestTenantsDoNotSubscribe(t *testing.T) {
	event := func(namespace string) live.Event {
		return live.Event{ID: object.ID{Group: "argoproj.io", Kind: "Application", Namespace: namespace, Name: "web"}}
	}
	for _, c := range []struct {
		subscribers []string
		want        int
	}{{nil, 2}, {[]string{argoNamespace}, 1}} {
		o := NewOutlet(Options{Subscribers: c.subscribers})
		o.onApplication(event(argoNamespace))
		o.onApplication(event("tenant"))
		if len(o.applications) != c.want {
			t.Errorf("served %v: %d Applications are judged, want %d", c.subscribers, len(o.applications), c.want)
		}
	}
}
