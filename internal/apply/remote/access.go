package remote

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Identities are those of Next, with writes that reach the connection's cluster alone.
type Identities struct {
	Connection *Connection
	Next       tenancy.Identities
}

// As implements tenancy.Identities.
func (i Identities) As(account identity.Account) (tenancy.Access, error) {
	access, err := i.Next.As(account)
	access.Writer = Writer{i.Connection, access.Writer}
	return access, err
}

// Writer is an apply.Writer that writes only while the connection leads to the cluster that it led to at first.
type Writer struct {
	Connection *Connection
	Next       apply.Writer
}

// Apply implements apply.Writer.
func (w Writer) Apply(ctx context.Context, a apply.Apply) (object.Object, error) {
	if err := w.verify(ctx); err != nil {
		return nil, err
	}
	return w.Next.Apply(ctx, a)
}

// Edit implements apply.Writer.
func (w Writer) Edit(ctx context.Context, e apply.Edit) (object.Object, error) {
	if err := w.verify(ctx); err != nil {
		return nil, err
	}
	return w.Next.Edit(ctx, e)
}

// Delete implements apply.Writer.
func (w Writer) Delete(ctx context.Context, t apply.Target) error {
	if err := w.verify(ctx); err != nil {
		return err
	}
	return w.Next.Delete(ctx, t)
}

func (w Writer) verify(ctx context.Context) error {
	if err := w.Connection.verify(ctx); err != nil {
		return live.Unanswered(fmt.Errorf("not sent: %w", err))
	}
	return nil
}
