// Package ssa answers: how does the API server take a write?
//
// In: applies, ownership changes and deletes, each with the object that it was judged on.
// Out: what the server made of it; ErrStale, ErrOwned, ErrGone, live.ErrUnanswered, or the server's refusal without any Secret value in it.
// Promise: the only package that writes users' objects; a write to an existing object always carries its uid and resourceVersion.
// Not here: what to write (decide), in which order (apply).
package ssa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Writer writes through one cluster connection.
type Writer struct {
	Cluster *cluster.Client
}

var _ apply.Writer = Writer{}

// Apply sends one server-side apply (KEP-555) with strict field validation.
func (w Writer) Apply(ctx context.Context, a apply.Apply) (object.Object, error) {
	body, err := withPreconditions(a).JSON()
	if err != nil {
		return nil, err
	}
	r, err := w.resource(a.Target)
	if err != nil {
		return nil, err
	}
	force := a.Force == apply.Take
	opts := metav1.PatchOptions{FieldManager: a.Manager, Force: &force, FieldValidation: "Strict"}
	if a.DryRun == apply.Simulate {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	u, err := r.Patch(ctx, a.ID.Name, types.ApplyPatchType, body, opts)
	if err != nil {
		return nil, translate(err, a.ID)
	}
	return u.Object, nil
}

// withPreconditions adds uid and resourceVersion. An apply with a resourceVersion alone would create an absent object.
func withPreconditions(a apply.Apply) object.Object {
	if a.UID == "" {
		return a.Body
	}
	body := object.Object{}
	for k, v := range a.Body {
		body[k] = v
	}
	meta := map[string]any{}
	for k, v := range a.Body.Metadata() {
		meta[k] = v
	}
	meta["uid"], meta["resourceVersion"] = a.UID, a.ResourceVersion
	body["metadata"] = meta
	return body
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Edit sends one JSON patch. Replacing resourceVersion makes a stale write a clean 409; a test operation would be a 422.
func (w Writer) Edit(ctx context.Context, e apply.Edit) (object.Object, error) {
	if e.ResourceVersion == "" {
		return nil, fmt.Errorf("edit %s: no resourceVersion to hold it to", e.ID)
	}
	list := []operation{{"replace", "/metadata/resourceVersion", e.ResourceVersion}}
	for _, o := range e.Operations {
		verb := "replace"
		if o.Value == nil {
			verb = "remove"
		}
		list = append(list, operation{verb, o.At.String(), o.Value})
	}
	patch, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	r, err := w.resource(e.Target)
	if err != nil {
		return nil, err
	}
	opts := metav1.PatchOptions{FieldManager: "truce-reclaim"}
	if e.DryRun == apply.Simulate {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	u, err := r.Patch(ctx, e.ID.Name, types.JSONPatchType, patch, opts)
	if err != nil {
		return nil, translate(err, e.ID)
	}
	return u.Object, nil
}

// Delete removes the object in the background, with both preconditions. That its kind is no longer served is apply.ErrStale: so it was when
// the object was read.
func (w Writer) Delete(ctx context.Context, t apply.Target) error {
	if t.UID == "" || t.ResourceVersion == "" {
		return fmt.Errorf("delete %s: no uid or resourceVersion to hold it to", t.ID)
	}
	r, err := w.resource(t)
	if errors.Is(err, live.ErrUnknownKind) {
		return apply.ErrStale
	}
	if err != nil {
		return err
	}
	uid := types.UID(t.UID)
	dependents := propagation[t.Propagation]
	err = r.Delete(ctx, t.ID.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &t.ResourceVersion},
		PropagationPolicy: &dependents,
	})
	if err == nil {
		return nil
	}
	failure := translate(err, t.ID)
	if apierrors.IsNotFound(err) && !errors.Is(failure, apply.ErrGone) { // not the object: its path
		return apply.ErrStale
	}
	return failure
}

// propagation is what becomes of the dependents of a deleted object, in the API's words.
var propagation = map[hook.Propagation]metav1.DeletionPropagation{
	hook.Background: metav1.DeletePropagationBackground, hook.Foreground: metav1.DeletePropagationForeground, hook.Orphan: metav1.DeletePropagationOrphan,
}

func (w Writer) resource(t apply.Target) (dynamic.ResourceInterface, error) {
	res, err := w.Cluster.Resource(t.GVK)
	if err != nil {
		return nil, err
	}
	r := w.Cluster.Dynamic().Resource(res.GVR)
	if res.Namespaced {
		return r.Namespace(t.ID.Namespace), nil
	}
	return r, nil
}

// translate returns the error that the caller distinguishes. The server's words may quote the object that was sent, so they are redacted.
func translate(err error, id object.ID) error {
	switch {
	case cluster.IsUnanswered(err):
		return live.Unanswered(inWords(err, id))
	case cluster.IsAbsent(err, id.Name) && !lacksNamespace(err, id):
		return apply.ErrGone
	case apierrors.IsConflict(err): // the caller reads and judges again
		return refusal(err, id)
	case cluster.IsDoubtful(err):
		return live.Doubted(refusal(err, id))
	}
	return refusal(err, id)
}

// lacksNamespace reports whether "not found" is about the namespace of the object, which may have the object's name: so the server answers a create.
func lacksNamespace(err error, id object.ID) bool {
	var status apierrors.APIStatus
	return id.Namespace != "" && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// refusal is an error that the server means.
func refusal(err error, id object.ID) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	conflicts := 0
	for _, c := range statusCauses(status.Status()) {
		if c.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts++
		}
		if c.Field == "metadata.uid" {
			return apply.ErrStale
		}
	}
	switch {
	case conflicts > 0:
		return fmt.Errorf("%w: %s", apply.ErrOwned, redact.Message(id, status.Status().Message))
	case apierrors.IsConflict(err):
		return apply.ErrStale
	case apierrors.IsUnsupportedMediaType(err): // an aggregated API that knows no server-side apply
		return forbidden("this API takes no server-side apply: " + redact.Message(id, status.Status().Message))
	case apierrors.IsForbidden(err) && strings.Contains(status.Status().Message, " cannot patch resource "): // not by admission
		return forbidden(redact.Message(id, status.Status().Message))
	case apierrors.IsInvalid(err):
		return invalid{redact.Message(id, withoutLongValues(status.Status())), changesImmutable(status.Status())}
	case status.Status().Code == http.StatusInternalServerError: // no fault of the server's, see cluster.IsUnanswered
		return invalid{message: redact.Message(id, status.Status().Message)}
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return refused(redact.Message(id, status.Status().Message))
	}
	return inWords(err, id)
}

// inWords returns an error with the server's words or, where it has not answered, the client's.
func inWords(err error, id object.ID) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	return errors.New(redact.Message(id, status.Status().Message))
}

// forbidden is apply.ErrForbidden in the server's words.
type forbidden string

func (f forbidden) Error() string { return string(f) }
func (forbidden) Unwrap() error   { return apply.ErrForbidden }

// invalid is apply.ErrInvalid, or apply.ErrImmutable, in the server's words.
type invalid struct {
	message   string
	immutable bool
}

func (i invalid) Error() string { return i.message }

func (i invalid) Unwrap() error {
	if i.immutable {
		return apply.ErrImmutable
	}
	return apply.ErrInvalid
}

// maxShownValue bounds what the server quotes of an object: of a pod's template it quotes each field, in three kilobytes.
const maxShownValue = 160

// withoutLongValues returns what the server says is invalid, without values of more than maxShownValue bytes: the field is named before each,
// and what is wrong behind it.
func withoutLongValues(s metav1.Status) string {
	const introduced = "Invalid value: "
	text := s.Message
	for _, c := range statusCauses(s) {
		value, wrong := c.Message, ""
		if i := strings.LastIndex(value, ": "); i >= len(introduced) {
			value, wrong = value[:i], value[i+len(": "):]
		}
		if strings.HasPrefix(value, introduced) && len(value) > maxShownValue && wrong != "" {
			text = strings.ReplaceAll(text, c.Message, wrong)
		}
	}
	return text
}

// changesImmutable reports whether a change was refused because a field may not change, in the words of Kubernetes' own validation.
func changesImmutable(s metav1.Status) bool {
	return slices.ContainsFunc(statusCauses(s), func(c metav1.StatusCause) bool {
		return strings.Contains(c.Message, "field is immutable") || strings.Contains(c.Message, "updates to statefulset spec for fields other than")
	})
}

func statusCauses(s metav1.Status) []metav1.StatusCause {
	if s.Details == nil {
		return nil
	}
	return s.Details.Causes
}

// refused is apply.ErrRefused in the server's words.
type refused string

func (r refused) Error() string { return string(r) }
func (refused) Unwrap() error   { return apply.ErrRefused }
