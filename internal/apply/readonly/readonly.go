// Package readonly answers: how can a command run the stages of an app without being able to write?
//
// In: the writer, the inventory and the access that a controller would use.
// Out: the same without writes: dry runs reach the API server, everything else is ErrReadOnly.
// Promise: no call of a value of this package changes the cluster.
// Not here: what a command looks at (view).
package readonly

import (
	"context"
	"errors"
	"github.com/truce-gitops/truce/internal/model/identity"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// ErrReadOnly is the error of each write. It is a bug in truce.
var ErrReadOnly = errors.New("asked to write while only looking: this is a bug in truce")

// Writer is an apply.Writer that lets dry runs through and nothing else.
type Writer struct{ Writer apply.Writer }

// Apply implements apply.Writer.
func (l Writer) Apply(ctx context.Context, a apply.Apply) (object.Object, error) {
	if a.DryRun != apply.Simulate {
		return nil, ErrReadOnly
	}
	return l.Writer.Apply(ctx, a)
}

// Edit implements apply.Writer.
func (l Writer) Edit(ctx context.Context, e apply.Edit) (object.Object, error) {
	if e.DryRun != apply.Simulate {
		return nil, ErrReadOnly
	}
	return l.Writer.Edit(ctx, e)
}

// Delete implements apply.Writer.
func (Writer) Delete(context.Context, apply.Target) error { return ErrReadOnly }

// Inventory is an inventory.Store that cannot be written.
type Inventory struct{ Store inventory.Store }

// Load implements inventory.Store.
func (r Inventory) Load(ctx context.Context, key app.Key) (inventory.Record, error) {
	return r.Store.Load(ctx, key)
}

// Save implements inventory.Store.
func (Inventory) Save(context.Context, inventory.Record) error { return ErrReadOnly }

// Delete implements inventory.Store.
func (Inventory) Delete(context.Context, app.Key) error { return ErrReadOnly }

// HookHolders implements inventory.Store.
func (r Inventory) HookHolders(ctx context.Context, id object.ID) ([]app.Key, error) {
	return r.Store.HookHolders(ctx, id)
}

// Identity is a tenancy.Identities for commands: every account has the Access of the user who runs the command.
type Identity struct{ tenancy.Access }

// As implements tenancy.Identities.
func (a Identity) As(identity.Account) (tenancy.Access, error) { return a.Access, nil }

// AnyRights is a tenancy.Rights that refuses nothing beforehand: the API server judges each request.
type AnyRights struct{}

// Refused implements tenancy.Rights.
func (AnyRights) Refused(context.Context, string, object.GVK, object.ID) (string, error) {
	return "", nil
}
