package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// LastingDigest identifies the app without what is about one run, one order or one moment. It is over all that is left, whether a field is exported or not:
// two apps of one digest have the same objects of the same files, also in two processes of one program. Empty for an app with a value that it cannot
// see through.
func (a App) LastingDigest() string {
	d := digest{Hash: sha256.New()}
	d.value(reflect.ValueOf(a.lasting()), 0)
	if d.opaque {
		return ""
	}
	return hex.EncodeToString(d.Sum(nil))
}

func (a App) lasting() App {
	a = a.BetweenRollouts()
	a.Generation, a.Suspended, a.Deleting, a.DeletionPaused, a.Finalizers = 0, false, false, false, nil
	a.Request, a.HandledRequest, a.Approved, a.Confirmed = "", "", "", time.Time{}
	a.Terminating, a.TerminatingRequest = false, ""
	a.LeftOperation, a.AwaitsWindow = LeftOperation{}, false
	a.ReachedRevision, a.FailedRevision, a.FailedMessage, a.CompletedRevision, a.LastFailure, a.AttemptedRevision = "", "", "", "", "", ""
	a.OnlyApplied, a.FailedSince, a.Unfetched = false, time.Time{}, ""
	a.Adoption = policy.Adoption{Mode: a.Adoption.Mode} // the rest is what the other controller says and does
	if a.Policy.Mode == policy.Suspend {
		a.Policy.Mode = policy.Enforce
	}
	return a
}

// digest is a hash over values with all that they lead to.
type digest struct {
	hash.Hash
	opaque bool // a value was of a type that is not ours, or too deep
}

// deepest bounds how far a value is followed: none that an app has is a tenth as deep, unless it leads back to itself.
const deepest = 64

// module begins the paths of the packages whose types are known to be values, without compiled programs or connections.
const module = "github.com/truce-gitops/truce/"

func (d *digest) value(v reflect.Value, depth int) {
	if d.opaque = d.opaque || depth > deepest; d.opaque {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		d.element(v, depth)
	case reflect.Struct:
		d.fields(v, depth)
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(d, "[%d", v.Len())
		for i := range v.Len() {
			d.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		d.entries(v, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		d.opaque = !v.IsNil()
	default:
		fmt.Fprintf(d, "%s %q;", v.Kind(), fmt.Sprint(v)) // also of a field that is not exported
	}
}

func (d *digest) element(v reflect.Value, depth int) {
	switch {
	case v.IsNil():
		fmt.Fprint(d, "nil;")
	case v.Type() == reflect.TypeFor[*regexp.Regexp]():
		d.value(v.Elem().FieldByName("expr"), depth+1)
	default:
		fmt.Fprintf(d, "%s:", v.Elem().Type())
		d.value(v.Elem(), depth+1)
	}
}

// fields adds a struct: one that hides all it has by its text, where it has one.
func (d *digest) fields(v reflect.Value, depth int) {
	t, n := v.Type(), v.NumField()
	hides := !slices.ContainsFunc(reflect.VisibleFields(t), reflect.StructField.IsExported)
	switch {
	case t == reflect.TypeFor[time.Time]():
		n = 2 // the others are about its zone
	case t.PkgPath() != "" && !strings.HasPrefix(t.PkgPath(), module):
		d.opaque = true
		return
	case hides && v.CanInterface():
		if text, ok := v.Interface().(fmt.Stringer); ok {
			fmt.Fprintf(d, "%s %q;", t, text)
			return
		}
	}
	for i := range n {
		d.value(v.Field(i), depth+1)
	}
}

func (d *digest) entries(v reflect.Value, depth int) {
	all := make([]string, 0, v.Len())
	for key, value := range v.Seq2() {
		one := digest{Hash: sha256.New()}
		one.value(key, depth+1)
		one.value(value, depth+1)
		d.opaque = d.opaque || one.opaque
		all = append(all, string(one.Sum(nil)))
	}
	slices.Sort(all)
	fmt.Fprintf(d, "{%d%s", len(all), strings.Join(all, ""))
}
