package inventory_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"pgregory.net/rapid"
)

func id(name string) object.ID {
	return object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}
}

func named(names ...string) []inventory.Entry {
	var out []inventory.Entry
	for _, n := range names {
		out = append(out, inventory.Entry{ID: id(n), Version: "v1"})
	}
	return out
}

func names(r inventory.Record) []string {
	var out []string
	for _, e := range r.Entries {
		out = append(out, e.ID.Name+" "+e.UID+" "+e.Sent)
	}
	return out
}

func TestNothingIsForgottenUntilItIsTakenOut(t *testing.T) {
	r := inventory.Record{App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "shop"}}
	r = inventory.AddEntries(r, named("b", "a"))
	r = inventory.MergeEntries(r, []inventory.Entry{{ID: id("a"), Version: "v1", UID: "u1", Sent: "s1"}})
	r = inventory.AddEntries(r, named("a", "c")) // b has left Git, and is still there
	r = inventory.MergeEntries(r, []inventory.Entry{{ID: id("a"), Version: "v2"}})
	if diff := cmp.Diff([]string{"a u1 s1", "b  ", "c  "}, names(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := names(r)
	without := inventory.RemoveEntries(r, []object.ID{id("b"), id("z")})
	if diff := cmp.Diff([]string{"a u1 s1", "c  "}, names(without)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, names(r)); diff != "" {
		t.Errorf("the record itself was changed:\n%s", diff)
	}
}

func TestPrintAndParseAreInverse(t *testing.T) {
	word := rapid.StringMatching(`[a-zA-Z0-9.:_@/-]{1,12}`)
	maybe := rapid.StringMatching(`[a-z0-9.-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		r := inventory.Record{
			App:    app.Key{Kind: word.Draw(t, "kind"), Namespace: maybe.Draw(t, "namespace"), Name: word.Draw(t, "name")},
			AppUID: maybe.Draw(t, "uid"), Revision: maybe.Draw(t, "revision"),
		}
		var entries []inventory.Entry
		r.Rendered = maybe.Draw(t, "rendered")
		for range rapid.IntRange(0, 9).Draw(t, "entries") {
			e := inventory.Entry{
				ID:      object.ID{Group: maybe.Draw(t, "g"), Kind: word.Draw(t, "k"), Namespace: maybe.Draw(t, "ns"), Name: word.Draw(t, "n")},
				Version: word.Draw(t, "v"), UID: maybe.Draw(t, "u"), Sent: maybe.Draw(t, "s"),
			}
			if e.Sent != "" {
				e.Judged = rapid.StringMatching(`[0-9]{0,9}|s[A-Za-z0-9_-]{22}`).Draw(t, "judged")
				e.Expires = rapid.Int64Min(0).Draw(t, "expires")
			}
			entries = append(entries, e)
		}
		r = inventory.MergeEntries(r, entries)
		r.Guard = inventory.Guard{
			Size:   rapid.IntRange(0, 9).Draw(t, "size"),
			Origin: inventory.Origin{Repository: maybe.Draw(t, "repository"), Path: maybe.Draw(t, "path"), Namespace: maybe.Draw(t, "space"), Commit: maybe.Draw(t, "commit")},
		}
		if key := maybe.Draw(t, "operation"); key != "" {
			r.Operation = inventory.Operation{Key: key, Began: time.Unix(1, 0).UTC(), Tries: rapid.IntRange(0, 3).Draw(t, "tries"), Cause: maybe.Draw(t, "cause")}
			r.Operation.Left = rapid.SliceOfN(word, 0, 3).Draw(t, "left")
			for range rapid.IntRange(0, 3).Draw(t, "hooks") {
				r.Operation = r.Operation.With(word.Draw(t, "hook"), hook.Run{Phase: hook.Running, Started: time.Unix(2, 0).UTC(), Message: maybe.Draw(t, "message")})
			}
		}
		r.Guard.Continued = maybe.Draw(t, "continued")
		for n := range rapid.IntRange(0, 3).Draw(t, "prunes") {
			r.Guard.Pruned = append(r.Guard.Pruned, inventory.Prune{At: time.Unix(int64(n), 0).UTC(), Count: n, Moved: n == 1})
		}
		text, err := inventory.FormatRecord(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := inventory.ParseRecord(text)
		if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		rand.Shuffle(len(r.Entries), func(i, j int) { r.Entries[i], r.Entries[j] = r.Entries[j], r.Entries[i] })
		again, err := inventory.FormatRecord(r)
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("%v: not the same text in another order:\n%s\n%s", err, text, again)
		}
	})
}

const good = `{"format":1,"kind":"Kustomization","name":"a","namespace":"b","entries":[["apps","v1","Deployment","shop","web","u","s"]]}`

func TestADamagedRecordIsNeverAShorterOne(t *testing.T) {
	if _, err := inventory.ParseRecord([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for end := range len(good) {
		if r, err := inventory.ParseRecord([]byte(good[:end])); err == nil {
			t.Errorf("the first %d bytes pass for %v", end, r)
		}
	}
	for _, text := range []string{
		"null", "{}", "[]", good + good,
		`{"format":3,"kind":"K","name":"a","entries":[]}`,
		`{"format":1,"kind":"K","name":"a","guard":{"size":1},"entries":[]}`,
		`{"format":1,"kind":"K","name":"a"}`,
		`{"format":1,"kind":"K","name":"a","entries":null}`,
		`{"format":1,"kind":"K","name":"a","entries":[],"more":1}`,
		`{"format":1,"kind":"K","name":"a","entries":[["apps","v1"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["apps","v1","Deployment","shop","","",""]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","",""],["","v1","A","","a","",""]]}`,
		`{"format":1,"kind":"","name":"a","entries":[]}`,
		`{"format":1,"kind":"K","name":"","entries":[]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","","","a","",""]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","","A","","a","",""]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","","lost"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","","found","found"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","@7"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","sha256:1@"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","sha256:1@7~"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","sha256:1@7~soon"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","sha256:1@~-7"]]}`,
		`{"format":1,"kind":"K","name":"a","entries":[["","v1","A","","a","","@~7"]]}`,
	} {
		if r, err := inventory.ParseRecord([]byte(text)); err == nil {
			t.Errorf("%s passes for %v", text, r)
		}
	}
}

// TestAVersionStandsWithADigestAlone: without one, nothing says what was applied when the object was found to be as Git wants.
func TestAVersionStandsWithADigestAlone(t *testing.T) {
	text, err := inventory.FormatRecord(inventory.Record{
		App:     app.Key{Kind: "K", Name: "a"},
		Entries: []inventory.Entry{{ID: object.ID{Kind: "A", Name: "a"}, Version: "v1", Judged: "7"}, {ID: object.ID{Kind: "A", Name: "b"}, Version: "v1", Sent: "sha256:1", Judged: "7"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := inventory.ParseRecord(text)
	if err != nil {
		t.Fatal(err)
	}
	if r.Entries[0].Judged != "" || r.Entries[1].Judged != "7" || r.Entries[1].Sent != "sha256:1" {
		t.Errorf("read %+v", r.Entries)
	}
}

// TestARecordThatIsNotVerifiedNamesNoHooks: their objects would be deleted by it. What a person has ended stays ended.
func TestARecordThatIsNotVerifiedNamesNoHooks(t *testing.T) {
	op := inventory.Operation{Key: "k", Cause: "it failed", Ended: true, Terminated: "r", Left: []string{"Job.batch shop/left"}}.
		With("PreSync Job.batch shop/ran", hook.Run{Phase: hook.Running})
	for what, r := range map[string]inventory.Record{
		"with entries":                {Entries: named("a"), Operation: op, Guard: inventory.Guard{Size: 9}},
		"without entries":             {Operation: op, Guard: inventory.Guard{Size: 9}},
		"with what earlier ones left": {Operation: inventory.Operation{Key: "k", Terminated: "r", Left: op.Left}},
	} {
		got := inventory.Unverified(r, "it has no signature")
		if diff := cmp.Diff(inventory.Operation{Key: "k", Terminated: "r"}, got.Operation); diff != "" || got.Guard.Size != 0 || got.Unverified == "" {
			t.Errorf("%s: unverified %q, guard %+v, operation (-want +got):\n%s", what, got.Unverified, got.Guard, diff)
		}
		if diff := cmp.Diff(r, inventory.Unverified(r, "")); diff != "" {
			t.Errorf("%s: a verified record is changed (-want +got):\n%s", what, diff)
		}
	}
	if got := inventory.Unverified(inventory.Record{}, "it has no signature"); got.Unverified != "" {
		t.Errorf("a record that names nothing is reported: %s", got.Unverified)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := inventory.ParseRecord(text)
		if err != nil {
			return
		}
		printed, err := inventory.FormatRecord(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := inventory.ParseRecord(printed)
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}
