package reconcile

import (
	"slices"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
)

// failingApp is an app that waits for health, of which web has failed, then api; a difference of settings was left.
func failingApp(q Queue) (e *Engine, a app.App, managed func(name string) *managedObject) {
	e = NewEngine(Dependencies{Hasher: ownership.NewHasher(), Now: time.Now}, q)
	a = app.App{Key: app.Key{Kind: "Kustomization", Namespace: "shop", Name: "app"}, Wait: app.WaitHealthy}
	all := map[string]*managedObject{}
	s := e.state(a.Key)
	s.app = a
	for i, name := range []string{"web", "api", "settings"} {
		r := &managedObject{id: configMapID(name), owner: a.Key}
		r.health.Code = health.Degraded
		if name == "settings" {
			r.health.Code, r.open = health.Healthy, map[string]time.Time{".data.k": time.Now()}
		}
		all[name], e.objects[r.id], s.wanted[r.id] = r, r, true
		e.failures.note(a.Key, r.id, r.health.Code, time.Unix(int64(i), 0))
	}
	e.failures.takeChanged(a.Key)
	return e, a, func(name string) *managedObject { return all[name] }
}

func configMapID(name string) object.ID {
	return object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}
}

// TestAFailedObjectThatIsGoneFailsNoMore: and what was left because of its failure is judged again, whether its deletion is held or its creation has failed.
func TestAFailedObjectThatIsGoneFailsNoMore(t *testing.T) {
	for what, end := range map[string]func(*objectReconcile) error{
		"left":   func(w *objectReconcile) error { return w.keepResult() },
		"failed": func(w *objectReconcile) error { _ = w.failed(errKeepsChanging); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			var queued []object.ID
			e, a, managed := failingApp(queueFuncs{object: func(id object.ID) { queued = append(queued, id) }})
			web := managed("web")
			if err := end(&objectReconcile{engine: e, managed: web, app: a, snap: snapshot{owner: a.Key}, freshness: current}); err != nil {
				t.Fatal(err)
			}
			if _, fails := e.failures.of(a.Key)[web.id]; fails || web.health.Code != health.Missing {
				t.Errorf("web is %v, and fails: %t", web.health, fails)
			}
			if !slices.Contains(queued, managed("settings").id) {
				t.Errorf("judged again are %v, want settings, too", queued)
			}
		})
	}
}

// TestAFailureLastsUntilTheObjectWorks: not until it merely tries again. What Git changes of it is judged from then on.
func TestAFailureLastsUntilTheObjectWorks(t *testing.T) {
	for code, want := range map[health.Code]bool{
		health.Progressing: true, health.Unknown: true, health.Degraded: true, health.Healthy: false, health.Suspended: false, health.Missing: false,
	} {
		e, a, managed := failingApp(nil)
		web := managed("web")
		web.keepStatus(e, health.Status{Code: code})
		if since, fails := e.failures.of(a.Key)[web.id]; fails != want || fails && !since.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: it fails: %t, since %s", code, fails, since)
		}
		if got := e.failureOf(a).ID == web.id; got != want {
			t.Errorf("%s: drift is held because of it: %t", code, got)
		}
		if got := e.failures.takeChanged(a.Key); got == want {
			t.Errorf("%s: what is held is judged again: %t", code, got)
		}
		e.failures.renew(a.Key, web.id, code, time.Unix(9, 0))
		if since, fails := e.failures.of(a.Key)[web.id]; fails != (code == health.Degraded) || fails && !since.Equal(time.Unix(9, 0)) {
			t.Errorf("%s, and Git's change is applied: it fails: %t, since %s", code, fails, since)
		}
	}
}

// TestOtherRulesEndAFailure: what failed by those before is judged by these; equal rules of another reading are no others.
func TestOtherRulesEndAFailure(t *testing.T) {
	expression := func(text string) *health.Custom {
		failed, err := cel.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return &health.Custom{Kind: "ConfigMap", Failed: failed}
	}
	before := rules{by: health.Reconciled, custom: expression("status.k == 'bad'")}
	for what, c := range map[string]struct {
		next rules
		want bool
	}{
		"the same":             {rules{by: health.Reconciled, custom: expression("status.k == 'bad'")}, true},
		"another expression":   {rules{by: health.Reconciled, custom: expression("status.k == 'worse'")}, false},
		"no expression":        {rules{by: health.Reconciled}, false},
		"those of another app": {rules{by: health.Serving, custom: before.custom}, false},
	} {
		e, a, managed := failingApp(queueFuncs{})
		web := managed("web")
		web.assessBy(e, before)
		web.assessBy(e, c.next)
		if _, fails := e.failures.of(a.Key)[web.id]; fails != c.want {
			t.Errorf("%s: it fails: %t", what, fails)
		}
	}
}

// TestAFailureOfAnEarlierProcessLasts: of an object that only rolls out, until this process has seen it work or gone, has applied Git's change of it,
// or the custom resource says otherwise.
func TestAFailureOfAnEarlierProcessLasts(t *testing.T) {
	since := time.Unix(-60, 0)
	for what, c := range map[string]struct {
		happens func(e *Engine, web *managedObject)
		code    health.Code
		want    time.Time
	}{
		"it rolls out":         {func(*Engine, *managedObject) {}, health.Progressing, since},
		"it cannot be judged":  {func(*Engine, *managedObject) {}, health.Unknown, since},
		"it has failed":        {func(*Engine, *managedObject) {}, health.Degraded, since},
		"it works":             {func(*Engine, *managedObject) {}, health.Healthy, time.Time{}},
		"it rolls out, failed": {func(e *Engine, web *managedObject) { web.keepStatus(e, health.Status{Code: health.Degraded}) }, health.Progressing, since},
		"it has worked":        {func(e *Engine, web *managedObject) { web.keepStatus(e, health.Status{Code: health.Healthy}) }, health.Progressing, time.Time{}},
		"it was gone":          {func(e *Engine, web *managedObject) { web.keepAbsence(e, health.Status{Code: health.Missing}) }, health.Progressing, time.Time{}},
		"Git has changed it":   {func(e *Engine, web *managedObject) { e.failures.renew(web.owner, web.id, "", time.Unix(9, 0)) }, health.Progressing, time.Time{}},
		"the app was healthy":  {func(e *Engine, web *managedObject) { e.failures.inherit(app.App{Key: web.owner}, false) }, health.Progressing, time.Time{}},
	} {
		e, a, managed := failingApp(queueFuncs{})
		e.failures.forget(a.Key)
		a.FailedSince = since
		e.begin(a)
		web := managed("web")
		c.happens(e, web)
		web.keepStatus(e, health.Status{Code: c.code})
		e.assessedObjects(a.Key)
		if got := e.failureOf(a); !got.Since.Equal(c.want) || !c.want.IsZero() && got.ID != web.id {
			t.Errorf("%s: held by %v since %s, want %s", what, got.ID, got.Since, c.want)
		}
	}
}

// TestOnlyTheFirstRunInheritsAFailure: a custom resource that comes to say so later is about what this process has seen.
func TestOnlyTheFirstRunInheritsAFailure(t *testing.T) {
	e, a, managed := failingApp(queueFuncs{})
	e.failures.forget(a.Key)
	e.begin(a).stopped(report.Apply, errKeepsChanging)
	a.FailedSince = time.Unix(-60, 0)
	e.begin(a)
	managed("web").keepStatus(e, health.Status{Code: health.Progressing})
	e.assessedObjects(a.Key)
	if got := e.failureOf(a); !got.Since.IsZero() {
		t.Errorf("held by %v since %s", got.ID, got.Since)
	}
}

// TestARunThatDoesNotComeToTheObjectsEndsNoFailure: the health of none is known by it.
func TestARunThatDoesNotComeToTheObjectsEndsNoFailure(t *testing.T) {
	for what, c := range map[string]struct {
		applies bool
		err     error
		holds   bool
	}{
		"the source is not there":     {false, &stageError{report.SourceNotReady, errKeepsChanging}, true},
		"it is suspended":             {false, errSuspended, true},
		"it has to be rendered first": {true, errAwaitsRender, true},
		"an object is refused":        {true, errKeepsChanging, false},
	} {
		e, a, _ := failingApp(queueFuncs{})
		e.failures.forget(a.Key)
		a.FailedSince = time.Unix(-60, 0)
		r := e.begin(a)
		r.applies = c.applies
		r.stopped(report.Apply, c.err)
		if got := !e.failureOf(a).Since.IsZero(); got != c.holds {
			t.Errorf("%s: drift is held: %t", what, got)
		}
	}
}

// TestWhichFailureHoldsTheDriftOfAnObject: the first of the app's; of a failed object that was deleted its own, whatever else had failed before it.
func TestWhichFailureHoldsTheDriftOfAnObject(t *testing.T) {
	for _, c := range []struct {
		name  string
		there bool
		want  string
	}{
		{"web", false, "web"},
		{"web", true, "web"},
		{"api", false, "api"},
		{"api", true, "web"},
		{"settings", false, "web"},
		{"settings", true, "web"},
	} {
		e, a, managed := failingApp(nil)
		w := &objectReconcile{engine: e, managed: managed(c.name), app: a}
		if c.there {
			w.live = object.Object{"kind": "ConfigMap"}
		}
		if got := w.failure().ID; got != configMapID(c.want) {
			t.Errorf("%s, there: %t: held by %s, want %s", c.name, c.there, got, c.want)
		}
	}
	e, a, managed := failingApp(nil)
	a.Wait = app.WaitApplied
	if got := (&objectReconcile{engine: e, managed: managed("web"), app: a}).failure(); got != (health.Failure{}) {
		t.Errorf("an app that waits for no health is held by %v", got)
	}
}

// TestAnAppIsNotJudgedByItsOwnCustomResource: its health is that of the app, whose failure would hold drift for ever.
func TestAnAppIsNotJudgedByItsOwnCustomResource(t *testing.T) {
	e, a, managed := failingApp(nil)
	a.UID = "7d1f"
	managed("web").uid, managed("api").uid = a.UID, "8a30"
	if got := e.failureOf(a).ID; got != configMapID("api") {
		t.Errorf("held by %s, want api", got)
	}
	if got, want := e.unreadySince(a), time.Unix(1, 0); !got.Equal(want) {
		t.Errorf("not healthy since %s, want %s", got, want)
	}
}

// TestAnObjectThatHasOptedOutFailsNoApp: unless truce has just created it, and it has not been healthy yet, or healthChecks names it.
func TestAnObjectThatHasOptedOutFailsNoApp(t *testing.T) {
	e, a, managed := failingApp(nil)
	web := managed("web")
	held := func(want string) {
		t.Helper()
		if got := e.failureOf(a).ID; got != configMapID(want) {
			t.Errorf("held by %s, want %s", got, want)
		}
	}
	paused := &objectReconcile{live: object.Object{}, treatment: optout.Treatment{Effect: optout.NeverApply, Paused: "example.com/reconcile"}}
	paused.engine, paused.managed = e, web
	paused.keepOptOut()
	held("api")
	if !e.failures.takeChanged(a.Key) {
		t.Error("what was held by the object is not judged again")
	}
	web.isUnproven = true
	held("web")
	web.keepStatus(e, health.Status{Code: health.Healthy})
	e.failures.note(a.Key, web.id, health.Degraded, time.Unix(0, 0))
	web.health.Code = health.Degraded
	held("api")
	a.HealthChecks = []health.Check{{ID: web.id}}
	e.state(a.Key).checks.all = a.HealthChecks
	held("web")
}

// TestAnObjectThatIsResumedIsJudgedFromThenOn: what it did while no app waited for it says nothing of the rollout that follows.
func TestAnObjectThatIsResumedIsJudgedFromThenOn(t *testing.T) {
	now := time.Unix(3600, 0)
	for what, resume := range map[string]func(*objectReconcile){
		"resumed":     func(w *objectReconcile) { w.treatment = optout.Treatment{}; w.keepOptOut() },
		"gone":        func(w *objectReconcile) { w.live = nil; w.keepOptOut() },
		"made again":  func(w *objectReconcile) { w.managed.setUnproven(w.engine, true) },
		"still left":  func(w *objectReconcile) { w.keepOptOut() },
		"made before": func(w *objectReconcile) { w.managed.setUnproven(w.engine, false) },
	} {
		e, a, managed := failingApp(nil)
		e.Now = func() time.Time { return now }
		web, api := managed("web"), managed("api")
		w := &objectReconcile{live: object.Object{}, treatment: optout.Treatment{Effect: optout.NeverApply}}
		w.engine, w.managed = e, web
		w.keepOptOut()
		e.failures.takeChanged(a.Key)
		resume(w)
		want := now
		if web.isOptedOut() {
			want = time.Unix(0, 0)
		}
		if failed, unready := e.failures.of(a.Key)[web.id], e.failures.unreadyOf(a.Key)[web.id]; !failed.Equal(want) || !unready.Equal(want) {
			t.Errorf("%s: it has failed since %s, and is not healthy since %s, want %s", what, failed, unready, want)
		}
		if got := e.failures.takeChanged(a.Key); got == web.isOptedOut() {
			t.Errorf("%s: what is held is judged again: %t", what, got)
		}
		if got, want := e.failures.unreadyOf(a.Key)[api.id], time.Unix(1, 0); !got.Equal(want) {
			t.Errorf("%s: another object is not healthy since %s, want %s", what, got, want)
		}
	}
}

// TestWhatAsksToBeLeft: what is there, and is never applied, or not any more.
func TestWhatAsksToBeLeft(t *testing.T) {
	for effect, want := range map[optout.Effect]bool{
		"": false, optout.NeverApply: true, optout.CreateOnly: true, optout.MergeOnly: false, optout.KeepDrift: false,
	} {
		w := &objectReconcile{live: object.Object{}, treatment: optout.Treatment{Effect: effect}}
		if got := w.asksToBeLeft(); got != want {
			t.Errorf("%q: %t, want %t", effect, got, want)
		}
		if w.live = nil; w.asksToBeLeft() {
			t.Errorf("%q: what is not there asks to be left", effect)
		}
	}
}

// TestWhatAnAppNoLongerHasDoesNotFail: it left Git, or another app has taken it; if it comes back, it fails from then on.
func TestWhatAnAppNoLongerHasDoesNotFail(t *testing.T) {
	e := NewEngine(Dependencies{}, nil)
	key := app.Key{Kind: "Kustomization", Namespace: "team", Name: "web"}
	for how, ends := range map[string]func(){
		"it left Git": func() { claims(t, e, key.Name) },
		"it is taken": func() {
			e.lookup(shared()).hold = observes
			claims(t, e, "another", shared())
		},
	} {
		claims(t, e, key.Name, shared())
		e.failures.note(key, shared(), health.Degraded, time.Unix(1, 0))
		e.failures.takeChanged(key)
		ends()
		if failed, unready := e.failures.of(key), e.failures.unreadyOf(key); len(failed)+len(unready) > 0 || !e.failures.takeChanged(key) {
			t.Errorf("%s: failed: %v, not healthy: %v", how, failed, unready)
		}
		claims(t, e, "another")
	}
}
