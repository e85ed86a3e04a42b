package configmap_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// keyed is a store that signs, as a new process has it.
func keyed(t *testing.T, k *kubetest.Cluster, ns string) *configmap.Store {
	t.Helper()
	s := store(t, k)
	s.Reading, s.Key = configmap.All, &configmap.Key{Cluster: s.Cluster, Namespace: ns}
	return s
}

// TestARecordNeedsItsSignature: what another has written, or moved from another app, keeps its names and loses its uids until it is
// saved again.
func TestARecordNeedsItsSignature(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	patch := func(patch string) {
		t.Helper()
		k.Kubectl(t, "-n", ns, "patch", "configmap", cm, "--type=merge", "-p", patch)
	}
	want := record(ns, 2)
	want.Guard = inventory.Guard{Size: 2}
	want.Entries[0].Expires = 7
	for what, meddle := range map[string]func(){
		"":             func() {},
		"no signature": func() { patch(`{"data":{"inventory.mac":null}}`) },
		"signature is wrong: another writer": func() {
			text := k.Kubectl(t, "-n", ns, "get", "configmap", cm, "-o", `jsonpath={.data.inventory\.json}`)
			patch(`{"data":{"inventory.json":` + quote(strings.Replace(strings.TrimSpace(text), want.Entries[0].UID, "forged", 1)) + `}}`)
		},
		"signature is wrong: another writer changed it, or the key in Secret " + ns + "/truce-inventory-key is a new one": func() {
			k.Kubectl(t, "-n", ns, "delete", "secret", "truce-inventory-key")
		},
	} {
		k.Kubectl(t, "-n", ns, "delete", "configmap", cm, "--ignore-not-found")
		saved(t, keyed(t, k, ns), want)
		meddle()
		s := keyed(t, k, ns)
		got := loaded(t, s, want.App)
		if !strings.Contains(got.Unverified, what) || (got.Unverified == "") != (what == "") {
			t.Errorf("%q: it is unverified: %q", what, got.Unverified)
		}
		first, good := got.Entries[0], what == ""
		if (first.UID != "") != good || (first.Expires != 0) != good || (got.Guard.Size == 2) != good || len(got.Entries) != 2 {
			t.Errorf("%q: read %+v", what, got)
		}
		saved(t, s, got)
		if again := loaded(t, keyed(t, k, ns), want.App); again.Unverified != "" || len(again.Entries) != 2 {
			t.Errorf("%q: after it was saved again, it is unverified: %q of %d entries", what, again.Unverified, len(again.Entries))
		}
	}
}

func quote(s string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
}

// TestTheKeyIsMadeOnce: two processes that begin at once use one key; a Secret that holds none is an error.
func TestTheKeyIsMadeOnce(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	one, two := keyed(t, k, ns), keyed(t, k, ns)
	saved(t, one, record(ns, 1))
	if got := loaded(t, two, record(ns, 0).App); got.Unverified != "" {
		t.Errorf("another process says: %s", got.Unverified)
	}
	text := k.Kubectl(t, "-n", ns, "get", "secret", "truce-inventory-key", "-o", "jsonpath={.data.key}")
	if key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err != nil || len(key) != 32 {
		t.Errorf("a key of %d bytes: %v", len(key), err)
	}
	k.Kubectl(t, "-n", ns, "patch", "secret", "truce-inventory-key", "--type=merge", "-p", `{"data":{"key":"c2hvcnQ="}}`)
	if _, err := keyed(t, k, ns).Load(t.Context(), record(ns, 0).App); err == nil || !strings.Contains(err.Error(), "delete the Secret") || strings.Contains(err.Error(), "c2hvcnQ") {
		t.Errorf("with a Secret that holds no key: %v", err)
	}
}
