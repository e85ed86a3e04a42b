// Package apply answers: how is a plan carried, write by write?
//
// In: the steps of one object's plan, and the object that they were judged on.
// Out: the object as the server returned it after the last step, or the error that stopped them.
// Promise: every write to an existing object carries the uid and resourceVersion that it was judged on; a stale judgement
// writes nothing and comes back as ErrStale.
// Not here: what to do (decide), the requests themselves (the ssa child).
package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// ErrStale says that the object is no longer the one that was judged: read and judge again.
var ErrStale = errors.New("the object has changed since it was judged")

// ErrOwned says that an unforced apply met another owner of a field.
var ErrOwned = errors.New("another manager owns the field")

// ErrGone says that the object to delete is not there.
var ErrGone = errors.New("the object is not there")

// ErrForbidden says that the server does not let this identity write the object, nor try to; or that its API takes no apply at all.
var ErrForbidden = errors.New("forbidden")

// ErrRefused says that the server understood a write and does not take it: by its own checks, or by admission.
var ErrRefused = errors.New("refused")

// ErrInvalid is an ErrRefused by the API server's validation: of the object itself, or of the change.
var ErrInvalid = fmt.Errorf("invalid: %w", ErrRefused)

// ErrImmutable is an ErrInvalid that another object of the same name would not meet: a field of the live one may not change.
var ErrImmutable = fmt.Errorf("immutable: %w", ErrInvalid)

// Target is the object that a write was judged on. UID and ResourceVersion are empty for one that is to be created.
type Target struct {
	GVK             object.GVK
	ID              object.ID
	UID             string
	ResourceVersion string
	// Propagation is for a delete.
	Propagation hook.Propagation
}

// Apply is one server-side apply.
type Apply struct {
	Target
	Body    object.Object
	Manager string
	Force   Force
	DryRun  DryRun
}

// Edit is one JSON patch. It is made as a whole or not at all.
type Edit struct {
	Target
	Operations []Operation
	DryRun     DryRun
}

// Operation puts a value in the place of another one or, without a value, takes it away. Operations are made in their order.
type Operation struct {
	At    field.Pointer
	Value any
}

// Force says what happens to fields of other managers that the apply sets to another value.
type Force string

// DryRun says whether the server keeps the result.
type DryRun string

// The values of Force and DryRun.
const (
	Take     Force  = "take"     // they become ours
	Yield    Force  = "yield"    // the apply is refused (ErrOwned)
	Persist  DryRun = "persist"  // keep
	Simulate DryRun = "simulate" // answer as if, keep nothing
)

// Writer makes the writes. It may be called concurrently, blocks until the server answers, does not keep its arguments,
// and the returned object is the caller's. Errors are ErrStale, ErrOwned, ErrGone, ErrForbidden, ErrRefused,
// live.ErrUnanswered, or name what is in the way.
type Writer interface {
	Apply(ctx context.Context, a Apply) (object.Object, error)
	// Edit changes the object as a JSON patch does (RFC 6902).
	Edit(ctx context.Context, e Edit) (object.Object, error)
	// Delete removes the object in the background, if it is still the target.
	Delete(ctx context.Context, t Target) error
}

// ExecuteSteps makes the steps' writes in order. live is the object that they were judged on, nil for one that is not there.
func ExecuteSteps(ctx context.Context, w Writer, t Target, live object.Object, steps []decide.Step) (object.Object, error) {
	for _, s := range steps {
		t.UID, t.ResourceVersion = live.UID(), live.ResourceVersion()
		next, err := ExecuteStep(ctx, w, t, live, s)
		if err != nil {
			return live, fmt.Errorf("%s: %w", s.Verb, err) // callers know of which object
		}
		live = next
	}
	return live, nil
}

// ExecuteStep makes one write: all writes of objects that an app describes come here; hooks and stored releases have their own. t is the live
// object that the step was decided on. After Prune there is no object to return.
func ExecuteStep(ctx context.Context, w Writer, t Target, live object.Object, s decide.Step) (object.Object, error) {
	switch s.Verb {
	case decide.Prune:
		return nil, w.Delete(ctx, t)
	case decide.Recreate:
		return nil, deleteToRecreate(ctx, w, t, s)
	case decide.Namespace:
		return w.Apply(ctx, Apply{Target: t, Body: s.Body, Manager: s.Manager, Force: Take, DryRun: Persist})
	case decide.Create:
		made, err := w.Apply(ctx, Apply{Target: t, Body: s.Body, Manager: ownership.Manager, Force: Yield, DryRun: Persist})
		if errors.Is(err, ErrOwned) { // it was there after all
			return nil, ErrStale
		}
		return made, err
	case decide.Apply:
		return w.Apply(ctx, Apply{Target: t, Body: s.Body, Manager: ownership.Manager, Force: Take, DryRun: Persist})
	case decide.Handover:
		handed, err := w.Apply(ctx, Apply{Target: t, Body: s.Body, Manager: ownership.Handover, Force: Yield, DryRun: Persist})
		if errors.Is(err, ErrOwned) { // another manager wrote it meanwhile, and owns it
			return nil, ErrStale
		}
		return handed, err
	case decide.Retake:
		moved, err := ownership.Managed{Fields: entriesOf(live), APIVersion: live.APIVersion()}.Transfer(s.Paths, s.From...)
		if err != nil {
			return nil, err
		}
		return w.Edit(ctx, rewrite(t, moved))
	case decide.Adopt:
		moved, err := ownership.Managed{Fields: entriesOf(live), APIVersion: live.APIVersion()}.Adopt(s.From, s.Paths)
		if err != nil {
			return nil, err
		}
		return w.Edit(ctx, rewrite(t, moved, present(live, field.Pointer{"metadata", "annotations", lastApplied})...))
	case decide.Release:
		mark := field.Pointer{"metadata", "labels", object.PartOf}
		moved, err := ownership.Managed{Fields: entriesOf(live), APIVersion: live.APIVersion()}.Release(s.Manager, []field.Path{field.NewPath(mark...)})
		if err != nil {
			return nil, err
		}
		return w.Edit(ctx, rewrite(t, moved, present(live, mark)...))
	default:
		return nil, fmt.Errorf("%q is no step of one object's plan", s.Verb)
	}
}

// deleteToRecreate deletes an object that the API server does not change, if it would create it as the step's body has it: an object of
// another name is created in a dry run before.
func deleteToRecreate(ctx context.Context, w Writer, t Target, s decide.Step) error {
	try := Apply{Target: Target{GVK: t.GVK, ID: t.ID}, Body: maps.Clone(s.Body), Manager: ownership.Manager, Force: Yield, DryRun: Simulate}
	try.ID.Name = dryRunName
	try.Body["metadata"] = maps.Clone(s.Body.Metadata())
	try.Body.Metadata()["name"] = dryRunName
	if _, err := w.Apply(ctx, try); err != nil {
		return fmt.Errorf("it is not deleted, as a dry run cannot create it: %w", err)
	}
	return w.Delete(ctx, t)
}

// dryRunName is the name of an object that is never created.
const dryRunName = "truce-dry-run"

// lastApplied is the annotation of client-side apply: it is outdated as soon as truce owns its fields.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func entriesOf(o object.Object) []any {
	entries, _ := o.At("metadata", "managedFields").([]any)
	return entries
}

// present returns those of the places that an object has.
func present(o object.Object, places ...field.Pointer) []field.Pointer {
	return slices.DeleteFunc(places, func(p field.Pointer) bool { return o.At(p...) == nil })
}

// rewrite says who owns what from now on, and takes labels and annotations away with it.
func rewrite(t Target, managedFields []any, drop ...field.Pointer) Edit {
	e := Edit{Target: t, DryRun: Persist, Operations: []Operation{{At: field.Pointer{"metadata", "managedFields"}, Value: managedFields}}}
	for _, p := range drop {
		e.Operations = append(e.Operations, Operation{At: p})
	}
	return e
}
