// Package decrypt answers: what do the objects of a build say once its encrypted files are decrypted?
//
// In: what builds the objects, and a request with the app's keys.
// Out: the objects as of decrypted files, which of their fields hold what was encrypted, and the values to hide in messages.
// Promise: a file that cannot be decrypted, or whose MAC is wrong, is an error of the whole build that names it; no value is in an error, and
// nothing decrypted is written anywhere.
// Not here: the format and the keys (sops), reading keys from a cluster (values), limits on time and memory (worker).
package decrypt

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/sops"
	"github.com/truce-gitops/truce/internal/render/substitute"
)

// Builder builds the objects, in a process that only builds.
type Builder interface {
	render.Renderer
	// Spent reports whether a build has left something behind in the process, so that it must not build again.
	Spent() bool
}

// Renderer decrypts the files that Builder reads.
type Renderer struct {
	Builder
}

// Render implements render.Renderer. What was encrypted is found by a second build, with other values in the place of the decrypted ones.
func (d Renderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	if r.Decryption == nil {
		return d.Builder.Render(ctx, r)
	}
	keys, err := sops.ReadKeys(*r.Decryption, r.KeyService)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	t := newTree(ctx, r, keys)
	r.Files = t
	res, err := d.Builder.Render(ctx, r)
	switch {
	case t.err != nil:
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, t.err)
	case err != nil:
		return render.Result{}, t.masked(err)
	}
	for i := range res.Objects {
		if err := t.object(res.Objects[i]); err != nil {
			return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
		}
	}
	res.Secrets = t.secrets
	if len(t.files) == 0 {
		return res, ctx.Err()
	}
	t.view = sops.Placeholders
	other, err := d.Builder.Render(ctx, r)
	if err != nil {
		other.Objects = nil
	}
	markSensitive(res.Objects, other.Objects)
	return res, ctx.Err()
}

// masked is an error without the decrypted values.
func (t *tree) masked(err error) error {
	if len(t.secrets) == 0 {
		return err
	}
	return &maskedError{text: redact.KnownOf(t.secrets...).Text(err.Error()), cause: err}
}

type maskedError struct {
	text  string
	cause error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.cause }

// disabledKey is the annotation that keeps an object encrypted.
const disabledKey = "kustomize.toolkit.fluxcd.io/decrypt"

func isDisabled(o object.Object) bool {
	value, _ := o.Annotation(disabledKey)
	return strings.EqualFold(value, "disabled")
}

// IsEncrypted reports whether an object is still encrypted.
func IsEncrypted(o object.Object) bool {
	mac, _ := o.At("sops", "mac").(string)
	return mac != ""
}

// object decrypts the values of a Secret, and refuses what should have been decrypted and was not.
func (t *tree) object(o render.Object) error {
	at := func(err error) error { return &render.Error{File: o.File, Line: o.Line, Err: err} }
	if isDisabled(o.Data) {
		if f := t.files[o.File]; f != nil && !IsEncrypted(o.Data) && !f.Kept() {
			return at(fmt.Errorf("%s has %s: disabled by a kustomization, after its file was decrypted: put the annotation into the file", o.Data.ShownID(), disabledKey))
		}
		return nil
	}
	if IsEncrypted(o.Data) {
		return at(fmt.Errorf("%s is still encrypted after the build: only what stands in a file as SOPS wrote it is decrypted, and no part of a "+
			"file, no patch in a kustomization, and no file of a configMapGenerator; annotate it with %s: disabled to apply it as it is", o.Data.ShownID(), disabledKey))
	}
	if !redact.IsSecret(o.Data.ID()) {
		return nil
	}
	if err := t.secretData(o.Data); err != nil {
		return at(err)
	}
	if holdsEncryptedValues(o.Data) {
		return at(fmt.Errorf("%s is still encrypted after the build: its keys are the lines of a dotenv file that SOPS has encrypted, which is decrypted only "+
			"if a secretGenerator of a kustomization names the file; annotate it with %s: disabled to apply it as it is", o.Data.ShownID(), disabledKey))
	}
	return nil
}

// holdsEncryptedValues reports whether the keys of a Secret are the lines of an encrypted dotenv file, with the MAC. No program can decrypt these one by one.
func holdsEncryptedValues(o object.Object) bool {
	text, _ := o.At("data", "sops_mac").(string)
	mac, err := base64.StdEncoding.DecodeString(text)
	return err == nil && sops.IsEncryptedValue(string(mac))
}

// markSensitive marks the fields in which two builds differ that are the same but for what was encrypted.
func markSensitive(is, other []render.Object) {
	names := renamed(is, other)
	for i := range is {
		o := &is[i]
		if redact.IsSecret(o.Data.ID()) {
			continue
		}
		fields := [][]string{{}} // it is not known where the values went: all of it
		if len(is) == len(other) {
			same, _ := renameDocument(map[string]any(other[i].Data), names).(map[string]any)
			if object.Object(same).ID() == o.Data.ID() {
				fields = substitute.DifferingFields(o.Data, same)
			}
		}
		o.Sensitive = append(o.Sensitive, fields...)
	}
}

// hashLength is that of the hash that Kustomize appends to the name of what it generates.
const hashLength = len("-0123456789")

// renamed are the names of generated objects, which are made of their content: as they are, by those of the other build.
func renamed(is, other []render.Object) map[string]string {
	out := map[string]string{}
	for i := range min(len(is), len(other)) {
		a, b := is[i].Data.Name(), other[i].Data.Name()
		stem := len(a) - hashLength
		if a != b && stem > 0 && len(a) == len(b) && a[:stem+1] == b[:stem+1] && a[stem] == '-' {
			out[b] = a
		}
	}
	return out
}

// renameDocument returns a value with the names replaced.
func renameDocument(v any, names map[string]string) any {
	switch v := v.(type) {
	case string:
		if name, ok := names[v]; ok {
			return name
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = renameDocument(e, names)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = renameDocument(e, names)
		}
		return out
	}
	return v
}

// ErrEncrypted is the cause where an app has encrypted objects and no keys for them.
var ErrEncrypted = errors.New("is SOPS encrypted, configuring decryption is required for this secret to be reconciled: set spec.decryption")

// CheckPlain refuses Secrets that are encrypted, of an app without decryption, as Flux does. Unlike Flux it refuses those, too, that a secretGenerator has
// made of an encrypted dotenv file.
func CheckPlain(objects []render.Object) error {
	for _, o := range objects {
		if redact.IsSecret(o.Data.ID()) && (o.Data["sops"] != nil || holdsEncryptedValues(o.Data) && !isDisabled(o.Data)) {
			return &render.Error{File: o.File, Line: o.Line, Err: fmt.Errorf("%s %w", o.Data.ShownID(), ErrEncrypted)}
		}
	}
	return nil
}

var _ render.Renderer = Renderer{}
