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
// two apps of one digest have the same objects of the same files, also in two processes of one program.
func (a App) LastingDigest() string {
	h := sha256.New()
	digestValue(h, reflect.ValueOf(a.lasting()))
	return hex.EncodeToString(h.Sum(nil))
}

func (a App) lasting() App {
	a = a.BetweenRollouts()
	a.Generation, a.Suspended, a.Deleting, a.Finalizers = 0, false, false, nil
	a.Request, a.HandledRequest, a.Approved, a.Confirmed = "", "", "", time.Time{}
	a.Terminating, a.TerminatingRequest = false, ""
	a.ReachedRevision, a.FailedRevision, a.FailedMessage, a.CompletedRevision = "", "", "", ""
	a.OnlyApplied, a.FailedSince, a.Unfetched = false, time.Time{}, ""
	a.Adoption = policy.Adoption{Mode: a.Adoption.Mode} // the rest is what the other controller says and does
	if a.Policy.Mode == policy.Suspend {
		a.Policy.Mode = policy.Enforce
	}
	return a
}

// digestValue adds a value to a digest with all that it leads to.
func digestValue(h hash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		digestElement(h, v)
	case reflect.Struct:
		fields := v.NumField()
		if v.Type() == reflect.TypeFor[time.Time]() {
			fields = 2 // the others are about its zone
		}
		for i := range fields {
			digestValue(h, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(h, "[%d", v.Len())
		for i := range v.Len() {
			digestValue(h, v.Index(i))
		}
	case reflect.Map:
		digestMap(h, v)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprintf(h, "%t;", v.IsNil())
	default:
		fmt.Fprintf(h, "%s %v;", v.Kind(), v) // also of a field that is not exported
	}
}

func digestElement(h hash.Hash, v reflect.Value) {
	switch {
	case v.IsNil():
		fmt.Fprint(h, "nil;")
	case v.Type() == reflect.TypeFor[*regexp.Regexp]():
		digestValue(h, v.Elem().FieldByName("expr"))
	default:
		fmt.Fprintf(h, "%s:", v.Elem().Type())
		digestValue(h, v.Elem())
	}
}

func digestMap(h hash.Hash, v reflect.Value) {
	entries := make([]string, 0, v.Len())
	for key, value := range v.Seq2() {
		one := sha256.New()
		digestValue(one, key)
		digestValue(one, value)
		entries = append(entries, string(one.Sum(nil)))
	}
	slices.Sort(entries)
	fmt.Fprintf(h, "{%d%s", len(entries), strings.Join(entries, ""))
}
