package app_test

import (
	"errors"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/overlay"
)

// TestWhatIsAboutOneRunDoesNotLast: an app asks for the same objects before and after it was synced.
func TestWhatIsAboutOneRunDoesNotLast(t *testing.T) {
	web := app.App{Path: "web", Generation: 1}
	for name, c := range map[string]struct {
		change func(*app.App)
		lasts  bool
	}{
		"nothing":            {func(*app.App) {}, false},
		"it was synced":      {func(a *app.App) { a.CompletedRevision, a.ReachedRevision = "main@sha1:1", "1" }, false},
		"a request":          {func(a *app.App) { a.Request, a.HandledRequest = "now", "now" }, false},
		"it is suspended":    {func(a *app.App) { a.Suspended, a.Generation = true, 2 }, false},
		"a failure":          {func(a *app.App) { a.Unfetched, a.FailedSince = "no route", time.Unix(1, 0) }, false},
		"another path":       {func(a *app.App) { a.Path = "shop" }, true},
		"labels":             {func(a *app.App) { a.Labels = map[string]string{"a": "b"} }, true},
		"labels of metadata": {func(a *app.App) { a.Overlay.Metadata = overlay.Metadata{Labels: map[string]string{"team": "blue"}} }, true},
	} {
		a := web
		c.change(&a)
		if lasts := a.LastingDigest() != web.LastingDigest(); lasts != c.lasts {
			t.Errorf("%s: another digest: %t, want %t", name, lasts, c.lasts)
		}
	}
}

// TestEveryFieldCounts of all that an app leads to, at any depth, but for those that are about one run: a field that did not would keep an app as it was before.
func TestEveryFieldCounts(t *testing.T) {
	passing := map[string]bool{ // each is reset by name
		"Generation": true, "Suspended": true, "Deleting": true, "DeletionPaused": true, "Finalizers": true, "Request": true, "HandledRequest": true, "Approved": true, "Confirmed": true,
		"Terminating": true, "TerminatingRequest": true, "LeftOperation": true, "AwaitsWindow": true, "ReachedRevision": true, "FailedRevision": true, "FailedMessage": true, "CompletedRevision": true, "LastFailure": true,
		"AttemptedRevision": true,
		"OnlyApplied":       true, "FailedSince": true, "Unfetched": true, "Adoption": true, "SyncRequest": true, "IsRollingOut": true, "InSource": true, "Misread": true,
	}
	var a app.App
	of := reflect.ValueOf(&a).Elem()
	before := a.LastingDigest()
	for i := range of.NumField() {
		if name := of.Type().Field(i).Name; !passing[name] {
			eachChange(of.Field(i), name, 0, func(path string) {
				if a.LastingDigest() == before {
					t.Errorf("%s does not count", path)
				}
			})
		}
	}
}

// TestWhatIsCompiledCountsByItsText: behind an expression is a program with all that its library has.
func TestWhatIsCompiledCountsByItsText(t *testing.T) {
	with := func(expr, pattern string) app.App {
		ready, err := cel.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		return app.App{DependsOn: []dependency.Dependency{{Ready: ready}}, Ignore: ignore.Rules{{Target: ignore.Target{Name: regexp.MustCompile(pattern)}}}}
	}
	a := with("status == 1", "a")
	switch digest := a.LastingDigest(); {
	case digest == "" || digest != with("status == 1", "a").LastingDigest():
		t.Error("two parses of one text are two apps")
	case digest == with("status == 2", "a").LastingDigest() || digest == with("status == 1", "b").LastingDigest():
		t.Error("another text is no other app")
	}
	a.Misread = errors.New("of another module")
	if a.LastingDigest() != "" {
		t.Error("a value of a type that is not ours has a digest")
	}
}

// eachChange calls changed with each value that a field leads to set to another one, and puts it back.
func eachChange(v reflect.Value, path string, depth int, changed func(string)) {
	if !v.CanSet() || depth > 8 || v.Type() == reflect.TypeFor[*regexp.Regexp]() {
		return
	}
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	defer v.Set(was)
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Struct:
		for i := range v.NumField() {
			eachChange(v.Field(i), path+"."+v.Type().Field(i).Name, depth+1, changed)
		}
		return
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		changed(path)
		return
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		return
	}
	changed(path)
}
