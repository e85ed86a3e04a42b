package deliver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

const commentToken = "canary-81fe"

// note is a comment of the forge.
type note struct {
	ID      int64  `json:"id"`
	Body    string `json:"body"`
	foreign bool
}

// forge is a server with one pull request, number 7, in the form of GitHub, Gitea or GitLab.
type forge struct {
	header, credential, create, update string
	paged                              bool

	mu    sync.Mutex
	notes []note
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in struct{ Body string }
	if r.Method != http.MethodGet && json.NewDecoder(r.Body).Decode(&in) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	id, updates := strings.CutPrefix(r.URL.EscapedPath(), f.update)
	switch {
	case r.Header.Get(f.header) != f.credential:
		http.Error(w, "who is "+r.Header.Get(f.header), http.StatusUnauthorized)
	case r.Method == http.MethodGet && r.URL.EscapedPath() == f.create:
		_ = json.NewEncoder(w).Encode(f.page(r))
	case r.Method == http.MethodPost && r.URL.EscapedPath() == f.create:
		f.notes = append(f.notes, note{ID: int64(len(f.notes)) + 1, Body: in.Body})
		w.WriteHeader(http.StatusCreated)
	case updates && (r.Method == http.MethodPatch || r.Method == http.MethodPut):
		n, err := strconv.Atoi(id)
		if err != nil || f.notes[n-1].foreign {
			http.Error(w, "not yours", http.StatusForbidden)
			return
		}
		f.notes[n-1].Body = in.Body
	default:
		http.Error(w, "no such pull request", http.StatusNotFound)
	}
}

func (f *forge) page(r *http.Request) []note {
	if !f.paged {
		return f.notes
	}
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	first := min((number-1)*size, len(f.notes))
	return f.notes[first:min(first+size, len(f.notes))]
}

// texts returns the comments that are not of others.
func (f *forge) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, n := range f.notes {
		if !n.foreign {
			out = append(out, n.Body)
		}
	}
	return out
}

// say queues a message about an app for a pull request, and returns what came of it.
func (f *fixture) say(p deliver.Loaded, app, pull, text string) error {
	f.t.Helper()
	f.mu.Lock()
	f.providers[p.Key] = p
	f.mu.Unlock()
	err := f.Store.Update(func(tx *outbox.Tx) error {
		return tx.Push(p.Key, route.Note{Metadata: map[string]string{route.ChangeRequest: pull}, Message: notify.Message{
			Event: notify.Event{Severity: notify.Info, Reason: "ReconciliationSucceeded", Text: text}, About: object.ID{Kind: "Kustomization", Namespace: "shop", Name: app}, At: time.Now(),
		}})
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Wake(p.Key)
	return f.result()
}

// TestAPullRequestHasOneCommentOfEachApp: it is updated, found behind those of others, and none of others is mistaken for it.
func TestAPullRequestHasOneCommentOfEachApp(t *testing.T) {
	for kind, at := range map[string]*forge{
		"githubpullrequestcomment":  {header: "Authorization", credential: "Bearer " + commentToken, create: "/api/v3/repos/org/fleet/issues/7/comments", update: "/api/v3/repos/org/fleet/issues/comments/", paged: true},
		"giteapullrequestcomment":   {header: "Authorization", credential: "token " + commentToken, create: "/api/v1/repos/org/fleet/issues/7/comments", update: "/api/v1/repos/org/fleet/issues/comments/"},
		"gitlabmergerequestcomment": {header: "PRIVATE-TOKEN", credential: commentToken, create: "/api/v4/projects/org%2Ffleet/merge_requests/7/notes", update: "/api/v4/projects/org%2Ffleet/merge_requests/7/notes/", paged: true},
	} {
		t.Run(kind, func(t *testing.T) {
			for i := range 150 { // more than a page
				at.notes = append(at.notes, note{ID: int64(i) + 1, Body: "looks good", foreign: true})
			}
			s := httptest.NewServer(at)
			defer s.Close()
			f := newFixture(t, here)
			p := deliver.Loaded{SecretData: map[string][]byte{"token": []byte(commentToken)}}
			p.Provider = route.Provider{Key: route.Key{Namespace: "shop", Name: "pr"}, UID: "a1-b2", Type: kind, Address: s.URL + "/org/fleet", Timeout: 30 * time.Second, Secret: "s"}
			for i, app := range []string{"web", "web", "cart", "web"} {
				if err := f.say(p, app, "7", fmt.Sprint("Applied revision ", i)); err != nil {
					t.Fatal(err)
				}
			}
			got := at.texts()
			if len(got) != 2 || !strings.Contains(got[0], "Applied revision 3") || !strings.Contains(got[1], "Applied revision 2") {
				t.Fatalf("the comments are %q, want one for web and one for cart", got)
			}
			at.mu.Lock() // someone has copied ours, and it is gone
			at.notes[3].Body, at.notes[150].Body = got[0], "deleted"
			at.mu.Unlock()
			for i := range 2 {
				if err := f.say(p, "web", "7", fmt.Sprint("Applied again ", i)); err != nil {
					t.Fatal(err)
				}
			}
			if got := at.texts(); len(got) != 3 || !strings.Contains(got[2], "Applied again 1") {
				t.Errorf("the comments are %q, want a new one for web, once", got)
			}
			err := f.say(p, "web", "8", "x")
			if err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), commentToken) {
				t.Errorf("of a pull request that is not there: %v", err)
			}
			p.SecretData = map[string][]byte{"token": []byte(commentToken + "x")}
			err = f.say(p, "web", "7", "x")
			if err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), commentToken) {
				t.Errorf("with another token: %v", err)
			}
		})
	}
}
