package configmap

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// TestTheHoldersOfAHookAreKnownFromMemory: by what ran in an operation, and by what is left of those before; not by names that are alike.
func TestTheHoldersOfAHookAreKnownFromMemory(t *testing.T) {
	of := func(name string) object.ID {
		return object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: name}
	}
	s := &Store{Reading: All}
	s.all.listed = time.Now()
	for name, op := range map[string]inventory.Operation{
		"ran":     inventory.Operation{Key: "k"}.With("PreSync "+of("migrate").String(), hook.Run{Phase: hook.Succeeded}),
		"left":    {Key: "k", Left: []string{of("migrate").String()}},
		"another": {Key: "k", Left: []string{of("migrate-2").String(), of("old-migrate").String()}},
		"none":    {},
	} {
		key := app.Key{Kind: "Application", Namespace: "shop", Name: name}
		r := inventory.Record{App: key, Operation: op, Entries: []inventory.Entry{{ID: of("migrate"), Version: "v1"}}}
		text, err := inventory.FormatRecord(r)
		if err != nil {
			t.Fatal(err)
		}
		s.remember(key, s.versionOf("1", text))
	}
	got, err := s.HookHolders(t.Context(), of("migrate"))
	names := map[string]bool{}
	for _, key := range got {
		names[key.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"ran": true, "left": true}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
