package app_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
)

func TestAnAppIsBoundByItsProject(t *testing.T) {
	all := []project.Destination{{Server: "*", Namespace: "*"}}
	in := func(name string) app.App {
		return app.App{
			Member: project.Member{Project: name, Namespace: "argocd", Name: "web", Repositories: []string{"https://git.example/web"}, Destination: project.Destination{Server: "https://a", Name: "a", Namespace: "shop"}},
			Policy: policy.Policy{Mode: policy.Enforce},
		}
	}
	deleting := in("nowhere")
	deleting.Deleting = true
	open := project.Project{Namespace: "argocd", Name: "team", Repositories: []string{"*"}, Destinations: all}
	acting := open
	acting.Accounts = []project.Account{{Where: project.Destination{Server: "https://b", Namespace: "*"}, Name: "other"}, {Where: all[0], Name: "deployer"}}
	elsewhere := acting
	elsewhere.Repositories = nil
	leaving := in("team")
	leaving.Deleting = true
	broken := open
	broken.Problems = []string{"spec.signatureKeys: not supported yet"}
	for name, c := range map[string]struct {
		a       app.App
		known   project.Known
		refused string // a part of it
		note    string
		account identity.Account
	}{
		"no project, as of a Kustomization": {a: in(""), known: project.Known{State: project.Refused, Err: errors.New("forbidden")}},
		"permitted":                         {a: in("team"), known: project.Known{State: project.Listed, All: []project.Project{open}}},
		"not there":                         {a: in("nowhere"), known: project.Known{State: project.Listed}, refused: "does not exist"},
		"not there, and the app goes":       {a: deleting, known: project.Known{State: project.Listed}},
		"the default one is not there":      {a: in("default"), known: project.Known{State: project.Listed}},
		"a project that cannot be followed": {a: in("team"), known: project.Known{State: project.Listed, All: []project.Project{broken}}, refused: "permits nothing: spec.signatureKeys"},
		"projects that may not be read":     {a: in("team"), known: project.Known{State: project.Refused, Err: errors.New("forbidden")}, refused: "cannot be read: forbidden"},
		"a cluster without projects":        {a: in("team"), known: project.Known{State: project.Unserved}, note: "spec.project has no effect"},
		"a cluster without projects, asked": {a: in("default"), known: project.Known{State: project.Unserved}},
		"written as an account":             {a: in("team"), known: project.Known{State: project.Listed, All: []project.Project{acting}}, account: identity.Account{Namespace: "shop", Name: "deployer"}},
		"refused, and written as an account": {
			a: in("team"), known: project.Known{State: project.Listed, All: []project.Project{elsewhere}}, refused: "application repo", account: identity.Account{Namespace: "shop", Name: "deployer"},
		},
		"refused, and deleted as an account": {
			a: leaving, known: project.Known{State: project.Listed, All: []project.Project{elsewhere}}, account: identity.Account{Namespace: "shop", Name: "deployer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.a.InProject(c.known)
			why := ""
			for _, p := range got.Problems {
				why += p.String()
			}
			if (why == "") != (c.refused == "") || !strings.Contains(why, c.refused) {
				t.Errorf("refused: %q", why)
			}
			if notes := strings.Join(got.Notes, "\n"); (notes == "") != (c.note == "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes: %q", notes)
			}
			if got.Account != c.account {
				t.Errorf("account %+v", got.Account)
			}
			if mode := got.BetweenRollouts().Policy.Mode; (mode == policy.Enforce) != (c.refused == "") {
				t.Errorf("between rollouts the mode is %s", mode)
			}
		})
	}
}

func TestAClosedWindowMakesAnAppWait(t *testing.T) {
	starts, err := project.ParseSchedule("* * * * *")
	if err != nil {
		t.Fatal(err)
	}
	closed := project.Window{Schedule: "* * * * *", Duration: 2 * time.Minute, Apps: []string{"*"}, Starts: starts}
	forPeople := closed
	forPeople.Manual = true
	now := time.Date(2026, 1, 15, 12, 0, 30, 0, time.UTC)
	for name, c := range map[string]struct {
		windows []project.Window
		order   app.SyncRequest
		rollout app.Rollout
		refused bool
	}{
		"none":                         {nil, app.SyncRequest{Token: "1"}, app.IfChanged, false},
		"closed":                       {[]project.Window{closed}, app.SyncRequest{Token: "1"}, app.OnRequest, true},
		"for people":                   {[]project.Window{forPeople}, app.SyncRequest{Token: "1"}, app.OnRequest, false},
		"none, and a program asks":     {nil, app.SyncRequest{Token: "1", Automated: true}, app.IfChanged, false},
		"for people, a program asks":   {[]project.Window{forPeople}, app.SyncRequest{Token: "1", Automated: true}, app.OnRequest, true},
		"for people, nothing is asked": {[]project.Window{forPeople}, app.SyncRequest{}, app.OnRequest, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := app.App{Rollout: app.IfChanged, Project: &project.Project{Name: "team", Windows: c.windows}, SyncRequest: c.order}
			got := a.WithinWindows(now)
			if got.Rollout != c.rollout || (got.SyncRequest.Refused != "") != c.refused || got.AwaitsWindow != (len(c.windows) > 0) || (len(got.Notes) > 0) != (len(c.windows) > 0) {
				t.Errorf("%s, refused %q, notes %q", got.Rollout, got.SyncRequest.Refused, got.Notes)
			}
			a.Rollout = app.OnRequest
			if a.WithinWindows(now).AwaitsWindow {
				t.Error("an app without automated syncs waits for a window")
			}
			if a.NextWindow(now).IsZero() != (len(c.windows) == 0) {
				t.Errorf("next at %s", a.NextWindow(now))
			}
		})
	}
}
