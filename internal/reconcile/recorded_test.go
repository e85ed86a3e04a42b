package reconcile

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/basis"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func aRecordedRender() recordedRender {
	return recordedRender{
		Basis:  basis.Basis{Below: []string{"apps/web", "base"}, Digest: "d1"},
		Places: []recordedPlace{{"apps/web/a.yaml", 1, 0, nil}, {"base/web.yaml", 12, -3, []string{"spec.containers[name=web].image", "nginx:1"}}},
	}
}

func TestWhatIsRecordedOfARenderIsRead(t *testing.T) {
	got, err := parseRecorded(aRecordedRender().String())
	if diff := cmp.Diff(aRecordedRender(), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// FuzzRecordedRender: the text comes from the cluster. Whatever it is, it is read or refused.
func FuzzRecordedRender(f *testing.F) {
	f.Add(aRecordedRender().String())
	f.Add("AAAA")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRecorded(text)
		if err != nil {
			return
		}
		if again, err := parseRecorded(r.String()); err != nil || !cmp.Equal(r, again) {
			t.Errorf("%+v is read again as %+v, %v", r, again, err)
		}
	})
}

// TestOnlyAnEventOfTheRecordedStateShowsAnObjectAsRecorded: the app is rendered for each other.
func TestOnlyAnEventOfTheRecordedStateShowsAnObjectAsRecorded(t *testing.T) {
	entry := inventory.Entry{ID: configMapEvent("", "").ID, Version: "v1", UID: "1", Sent: "d", Judged: "7"}
	gone, of := newPendingEvent(configMapEvent("1", "7")), func(uid, version string) *pendingEvent { return newPendingEvent(configMapEvent(uid, version)) }
	gone.Gone = true
	for name, c := range map[string]struct {
		u    *pendingEvent
		e    func(inventory.Entry) inventory.Entry
		want bool
	}{
		"as it was":        {u: of("1", "7"), want: true},
		"changed":          {u: of("1", "8")},
		"made again":       {u: of("2", "7")},
		"gone":             {u: gone},
		"another version":  {of("1", "7"), func(e inventory.Entry) inventory.Entry { e.Version = "v2"; return e }, false},
		"never judged":     {of("1", "7"), func(e inventory.Entry) inventory.Entry { e.Judged = ""; return e }, false},
		"of an older text": {of("1", "7"), func(e inventory.Entry) inventory.Entry { e.Judged = "6"; return e }, false},
	} {
		e := entry
		if c.e != nil {
			e = c.e(e)
		}
		if got := c.u.shows(e); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestWhatWasRecordedIsRendered: the first render of an object that was known from the inventory changes nothing of it if it is the same, and is a change of
// Git's if not.
func TestWhatWasRecordedIsRendered(t *testing.T) {
	data := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c", "namespace": "shop"}}
	o := desired.Object{ID: data.ID(), GVK: data.GVK(), Data: data, File: "c.yaml", Line: 3, Digest: desired.ObjectDigest(data)}
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	for name, c := range map[string]struct {
		sent    string
		changed bool
	}{"the same": {o.Digest, false}, "another": {"older", true}} {
		e := NewEngine(Dependencies{Hasher: ownership.NewHasher()}, nil)
		known := o
		known.Data, known.Digest = nil, c.sent
		r := &managedObject{id: o.ID}
		r.setRecorded(known, key, inventory.Entry{ID: o.ID, Version: "v1", UID: "1", Sent: c.sent, Judged: "7"})
		if r.hasText() || r.state.phase != sent || r.appliedUID != "1" || r.file != "c.yaml" || r.line != 3 {
			t.Errorf("%s: recorded as %+v", name, r)
		}
		r.state.trust()
		changed, err := r.setDesired(o, key, inventory.Entry{}, &e.desiredTexts)
		if err != nil || changed != c.changed || !r.hasText() || r.state.isChanged() != c.changed || r.state.compared == c.changed {
			t.Errorf("%s: changed %t, %v, %+v", name, changed, err, r.state)
		}
	}
}

// TestAWorkloadThatFailsIsRenderedForItsPods: how to find them is in what Git wants.
func TestAWorkloadThatFailsIsRenderedForItsPods(t *testing.T) {
	var asked []app.Key
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := NewEngine(Dependencies{Now: func() time.Time { return now }}, queueFuncs{app: func(key app.Key) { asked = append(asked, key) }})
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	r := &managedObject{id: shared(), owner: key, observation: observation{uid: "1", podReport: &podReport{}}}
	e.objects[r.id] = r
	again, err := e.ReadPods(t.Context(), r.id)
	if err != nil || !again.After(now) || !r.forced || !slices.Equal(asked, []app.Key{key}) {
		t.Errorf("read again at %v, %v; forced %t, enqueued %v", again, err, r.forced, asked)
	}
}
