package validation_test

import (
	"context"
	"errors"
	"testing"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/apply/validation"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// server answers each read of a namespace, and each write, with one error.
type server struct {
	live.Reader
	apply.Writer
	read, write error
}

func (s server) Get(context.Context, object.GVK, object.ID) (object.Object, error) {
	return nil, s.read
}

func (s server) Apply(context.Context, apply.Apply) (object.Object, error) { return nil, s.write }

// TestADryRunNeedsNoRightToReadNamespaces: an account that may write in its namespace need not be able to read it.
func TestADryRunNeedsNoRightToReadNamespaces(t *testing.T) {
	all := []desired.Object{{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}}
	for name, c := range map[string]struct{ read, write, want error }{
		"it may read it":                   {nil, apply.ErrInvalid, apply.ErrInvalid},
		"it may not, and the object is OK": {live.Doubted(errors.New("forbidden")), nil, nil},
		"it may not, and the object not":   {live.Doubted(errors.New("forbidden")), apply.ErrInvalid, apply.ErrInvalid},
		"the namespace is still to come":   {live.ErrNotFound, apply.ErrInvalid, nil},
		"the kind is":                      {nil, live.ErrUnknownKind, nil},
	} {
		s := server{read: c.read, write: c.write}
		if got := (validation.DryRun{}).Check(t.Context(), tenancy.Access{Live: s, Writer: s}, all)[0]; !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
