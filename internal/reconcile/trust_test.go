package reconcile

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
)

func configMapEvent(uid, version string) live.Event {
	gvk := object.GVK{Version: "v1", Kind: "ConfigMap"}
	meta := map[string]any{"name": "c", "namespace": "shop", "uid": uid, "resourceVersion": version, "labels": map[string]any{object.PartOf: "app"}}
	return live.Event{
		GVK: gvk, ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "c"}, Depth: live.Metadata,
		Object: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta},
	}
}

// deploymentEvent shows a whole Deployment; each change is a path below metadata with its value.
func deploymentEvent(changes map[string]any) live.Event {
	gvk := object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}
	meta := map[string]any{
		"name": "web", "namespace": "shop", "uid": "1", "resourceVersion": "7", "generation": int64(2), "labels": map[string]any{object.PartOf: "app"},
		"managedFields": []any{map[string]any{"manager": ownership.Manager, "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}}},
	}
	for k, v := range changes {
		meta[k] = v
	}
	return live.Event{
		GVK: gvk, ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Depth: live.Full,
		Object: object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta},
	}
}

// trusting is a ConfigMap that an earlier process found to be as Git wants.
func trusting(state string) *managedObject {
	return &managedObject{
		id: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "c"}, description: description{served: "v1"},
		observation: observation{appliedUID: "1", settled: unchanged.ParseState(state)},
	}
}

// TestOnlyWhatIsExactlyAsItWasIsTrusted: an object that changed while no truce ran has another resourceVersion, one that was made again
// another uid.
func TestOnlyWhatIsExactlyAsItWasIsTrusted(t *testing.T) {
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil)
	with := func(spoil func(*managedObject)) *managedObject {
		r := trusting("7")
		spoil(r)
		return r
	}
	gone, full := configMapEvent("1", "7"), configMapEvent("1", "7")
	gone.Gone, full.Depth = true, live.Full
	for name, c := range map[string]struct {
		r    *managedObject
		ev   live.Event
		want bool
	}{
		"as it was":            {trusting("7"), configMapEvent("1", "7"), true},
		"changed":              {trusting("7"), configMapEvent("1", "8"), false},
		"an older copy":        {trusting("7"), configMapEvent("1", "6"), false},
		"made again":           {trusting("7"), configMapEvent("2", "7"), false},
		"it is gone":           {trusting("7"), gone, false},
		"seen as a whole":      {trusting("7"), full, false},
		"nothing is known":     {trusting(""), configMapEvent("1", "7"), false},
		"no version":           {trusting(""), configMapEvent("1", ""), false},
		"Git has changed":      {with(func(r *managedObject) { r.state.phase = unapplied }), configMapEvent("1", "7"), false},
		"a claim has changed":  {with(func(r *managedObject) { r.forced = true }), configMapEvent("1", "7"), false},
		"it was judged before": {with(func(r *managedObject) { r.state.compared = true }), configMapEvent("1", "7"), false},
	} {
		if got := c.r.matchesTrusted(newPendingEvent(c.ev), e); got != c.want {
			t.Errorf("%s: trusted %t, want %t", name, got, c.want)
		}
	}
}

// TestAWorkloadIsTrustedWhateverItsStatus: its generation counts the changes of its spec, and its metadata shows the others.
func TestAWorkloadIsTrustedWhateverItsStatus(t *testing.T) {
	owned := func(manager, at string) []any {
		return []any{map[string]any{"manager": manager, "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{at: map[string]any{}}}}}
	}
	now := deploymentEvent(nil)
	for name, c := range map[string]struct {
		changes map[string]any
		want    bool
	}{
		"as it was":           {nil, true},
		"another status":      {map[string]any{"resourceVersion": "9"}, true},
		"another spec":        {map[string]any{"generation": int64(3)}, false},
		"another label":       {map[string]any{"labels": map[string]any{object.PartOf: "app", "team": "b"}}, false},
		"an annotation":       {map[string]any{"annotations": map[string]any{"a": "b"}}, false},
		"it is being deleted": {map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}, false},
		"made again":          {map[string]any{"uid": "2"}, false},
		"a field of ours":     {map[string]any{"managedFields": owned(ownership.Manager, "f:paused")}, false},
		"our entry is gone":   {map[string]any{"managedFields": owned("other", "f:replicas")}, false},
	} {
		e := NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil)
		r := &managedObject{
			id: now.ID, description: description{served: "v1"}, observation: observation{appliedUID: "1", settled: unchanged.ParseState(unchanged.StateOf(now.Object).String())},
		}
		ev := deploymentEvent(c.changes)
		if got := r.matchesTrusted(newPendingEvent(ev), e); got != c.want {
			t.Errorf("%s: trusted %t, want %t", name, got, c.want)
		}
		e.currentClaims().OnEvent(autoscalerOf("web"))
		if r.matchesTrusted(newPendingEvent(ev), e) {
			t.Errorf("%s: trusted, though an autoscaler has come", name)
		}
	}
}

func autoscalerOf(name string) object.Object {
	return object.Object{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}},
	}
}

// TestWhatIsWrittenDownAsJudged: the next process has to look at whatever is not plainly as Git wants.
func TestWhatIsWrittenDownAsJudged(t *testing.T) {
	fresh := func() *managedObject {
		return &managedObject{
			id: object.ID{Kind: "ConfigMap"}, state: objectState{phase: applied, compared: true},
			description: description{served: "v1", digest: "sha256:1"}, observation: observation{settled: unchanged.ParseState("7"), uid: "1", appliedUID: "1"},
		}
	}
	if got := fresh().settledAs(); got != "7" {
		t.Fatalf("judged as %q, want 7", got)
	}
	for name, spoil := range map[string]func(*managedObject){
		"not judged":             func(r *managedObject) { r.state.compared = false },
		"an event waits":         func(r *managedObject) { r.pending = newPendingEvent(configMapEvent("1", "8")) },
		"it has a problem":       func(r *managedObject) { r.problem = "refused" },
		"a field differs":        func(r *managedObject) { r.findings = []report.Finding{{}} },
		"a field is withheld":    func(r *managedObject) { r.withheld = []field.Path{field.NewPath("data")} },
		"a Secret, not digested": func(r *managedObject) { r.digest = "" },
		"admission changed it":   func(r *managedObject) { r.baseline = mutatedBaseline(t) },
		"it has opted out":       func(r *managedObject) { r.optedOut = true },
		"no state":               func(r *managedObject) { r.settled = unchanged.State{} },
		"no uid":                 func(r *managedObject) { r.uid, r.appliedUID = "", "" },
		"another object":         func(r *managedObject) { r.uid = "2" },
	} {
		r := fresh()
		spoil(r)
		if got := r.settledAs(); got != "" {
			t.Errorf("%s: judged as %q", name, got)
		}
	}
}

// TestAnEventThatComesBeforeItsAppIsHeld until the app has run, and the newest of several is.
func TestAnEventThatComesBeforeItsAppIsHeld(t *testing.T) {
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil)
	for _, version := range []string{"5", "6"} {
		e.OnEvent(configMapEvent("1", version))
	}
	held := e.early.take("app")
	if u := held[configMapEvent("", "").ID]; len(held) != 1 || u.version != 6 {
		t.Fatalf("held %v, want the newest event", held)
	} else if u.Object != nil || !u.packed.Known() {
		t.Errorf("held %+v, want it packed", u)
	}
	e.OnEvent(configMapEvent("1", "7"))
	if held = e.early.take("app"); len(held) != 0 || e.early.size != 0 {
		t.Errorf("held %v (%d) for an app that has run", held, e.early.size)
	}
	e.early.taken["app"] = false
	e.OnEvent(configMapEvent("1", "8"))
	gone := configMapEvent("1", "8")
	gone.Gone = true
	e.OnEvent(gone)
	if held = e.early.take("app"); len(held) != 0 || e.early.size != 0 {
		t.Errorf("held %v (%d) of an object that is gone", held, e.early.size)
	}
}

// TestNoMoreEventsAreHeldThanFit: those beyond are dropped, and their objects are read.
func TestNoMoreEventsAreHeldThanFit(t *testing.T) {
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil)
	e.early.size = maxEarlyEvents
	e.OnEvent(configMapEvent("1", "5"))
	if e.early.size--; e.early.size != maxEarlyEvents-1 || len(e.early.apps) > 0 {
		t.Errorf("held %d: %v", e.early.size, e.early.apps)
	}
	e.OnEvent(configMapEvent("1", "5"))
	if e.early.size != maxEarlyEvents {
		t.Errorf("held %d, want %d", e.early.size, maxEarlyEvents)
	}
}

// TestAnEventThatCameBeforeTheRecordIsTakenIn: as the earlier process judged it, it is trusted; else it is to be judged; and what is newer stays.
func TestAnEventThatCameBeforeTheRecordIsTakenIn(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := NewEngine(Dependencies{Now: func() time.Time { return now }, Hasher: ownership.NewHasher(), Health: map[health.Rules]health.Assessor{health.Reconciled: kstatus.Assessor{}}}, nil)
	held := func(version string) *pendingEvent {
		h := earlyEvents{}
		h.hold(configMapEvent("1", version), e)
		return h.take("app")[configMapEvent("", "").ID]
	}
	fresh := func() *managedObject {
		r := trusting("7")
		r.assessed = rules{by: health.Reconciled}
		return r
	}

	r := fresh()
	if err := r.takeEarly(held("7"), e); err != nil {
		t.Fatal(err)
	}
	if r.state != (objectState{applied, true}) || r.pending != nil || r.uid != "1" || r.version != 7 || r.fingerprint == 0 || r.health.Code != health.Healthy {
		t.Errorf("what is as it was is taken over as judged, not %+v", r)
	}
	r = fresh()
	if err := r.takeEarly(held("8"), e); err != nil {
		t.Fatal(err)
	}
	if r.state != (objectState{}) || r.pending == nil || !r.pending.arrived.Equal(now) || r.version != 0 {
		t.Errorf("what has changed is to be judged, not %+v", r)
	}
	r = fresh()
	failed, err := cel.Parse("true")
	if err != nil {
		t.Fatal(err)
	}
	r.assessed.custom = &health.Custom{Kind: "ConfigMap", Failed: failed}
	if err := r.takeEarly(held("7"), e); err != nil {
		t.Fatal(err)
	}
	if r.state != (objectState{applied, true}) || r.health.Code != health.Degraded {
		t.Errorf("a rule of the app's own judges what is as it was, not %+v", r.health)
	}
	waits := newPendingEvent(configMapEvent("1", "9"))
	waiting := func(p *pendingEvent) *managedObject {
		r := trusting("7")
		r.pending = p
		return r
	}
	judged := func(r *managedObject) *managedObject {
		r.version = 9
		return r
	}
	for name, c := range map[string]struct {
		r *managedObject
		u *pendingEvent
	}{
		"no event":          {fresh(), nil},
		"a newer event":     {waiting(waits), held("7")},
		"a judged object":   {judged(trusting("7")), held("7")},
		"a judged one, old": {judged(trusting("")), held("8")},
	} {
		pending, version := c.r.pending, c.r.version
		if err := c.r.takeEarly(c.u, e); err != nil {
			t.Fatal(err)
		}
		if c.r.pending != pending || c.r.version != version || c.r.state.compared {
			t.Errorf("%s: what is newer stays, not %+v", name, c.r)
		}
	}
}

// TestAnAdmissionThatHasChangedIsAskedAgain about the objects of which it changed a field, and no others.
func TestAnAdmissionThatHasChangedIsAskedAgain(t *testing.T) {
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil)
	mutated := func(name string) *managedObject {
		return &managedObject{id: object.ID{Kind: "ConfigMap", Name: name}, observation: observation{baseline: mutatedBaseline(t)}}
	}
	b, a, plain := mutated("b"), mutated("a"), &managedObject{id: object.ID{Kind: "ConfigMap", Name: "c"}}
	for _, r := range []*managedObject{b, a, plain} {
		e.objects[r.id] = r
	}
	if got := e.AdmissionChanged(); len(got) != 2 || got[0] != a.id || got[1] != b.id {
		t.Errorf("to be asked: %v", got)
	}
	if !a.forced || !a.baseline.Doubted() || plain.forced || plain.baseline.Doubted() {
		t.Errorf("asked %t, doubted %t; the other %t, %t", a.forced, a.baseline.Doubted(), plain.forced, plain.baseline.Doubted())
	}
}

// mutatedBaseline is that of an object of which admission changed a label.
func mutatedBaseline(t *testing.T) compare.Baseline {
	t.Helper()
	labelled := func(team string) object.Object {
		return object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"labels": map[string]any{"team": team}}}
	}
	shape, err := ownership.ParseShape([]byte(`{"f:metadata":{"f:labels":{"f:team":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	owners := []ownership.Entry{{Manager: ownership.Manager, Operation: "Apply", APIVersion: "v1", Fields: shape}}
	b := compare.ApplyResult{Sent: labelled("a"), Result: labelled("b"), Owners: owners, Native: true}.Baseline(ownership.NewHasher())
	if !b.Mutated() {
		t.Fatal("admission changed the label")
	}
	return b
}
