package watch

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestWhatIsKnownKeepsUidsOfAnyForm(t *testing.T) {
	k := newKnown("apps", "Deployment")
	id := func(name string) object.ID {
		return object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}
	}
	want := map[object.ID]string{
		id("uuid"):    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		id("capital"): "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
		id("plain"):   "6ba7b8109dad11d180b400c04fd430c8",
		id("words"):   "the second one",
		id("none"):    "",
	}
	for i, uid := range want {
		k.put(i, "another", 1)
		k.put(i, "00000000-0000-0000-0000-000000000000", 2)
		k.put(i, uid, 3)
	}
	if diff := cmp.Diff(want, maps.Collect(k.all())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, uid := range want {
		if got, version, ok := k.get(i); !ok || got != uid || version != 3 {
			t.Errorf("%s: got %q at %d, %v; want %q at 3", i, got, version, ok, uid)
		}
		k.drop(i)
		if _, _, ok := k.get(i); ok {
			t.Errorf("%s is still there", i)
		}
	}
}

func FuzzAUidComesBack(f *testing.F) {
	f.Add("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	f.Add("6ba7b810-9dad-11d1-80b4-00c04fd430C8")
	f.Fuzz(func(t *testing.T, uid string) {
		if u, ok := parseUUID(uid); ok && u.String() != uid {
			t.Errorf("%q became %q", uid, u)
		}
	})
}
