// Defaults writes two files of internal/model/schema in truce's own module. defaults.txt: what Kubernetes' API server fills in where an object names
// nothing, by the functions with which the server itself does it. optional.txt: the fields of which an empty map says something.
// `go generate ./internal/model/schema` calls it with their names.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

const head = "# Made by go generate ./internal/model/schema from the defaulting of k8s.io/kubernetes. Do not edit. A line: type, field, value; {} is a record of defaults.\n"

func main() {
	if err := writeFiles(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "defaults:", err)
		os.Exit(1)
	}
}

func writeFiles(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want the names of two files, got %q", args)
	}
	if err := os.WriteFile(args[1], []byte(optionalRecords()), 0o644); err != nil {
		return err
	}
	found := table{}
	for gvk := range legacyscheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		if err := found.kind(gvk); err != nil {
			return fmt.Errorf("%s: %w", gvk, err)
		}
	}
	return os.WriteFile(args[0], []byte(head+strings.Join(slices.Sorted(maps.Keys(found)), "")), 0o644)
}

// table holds the lines.
type table map[string]bool

// extent is how much of an object there is before the server fills in the rest: what it fills in depends on that.
type extent int

const (
	nothing    extent = iota
	lists             // one item in each list
	optional          // what is optional
	everything        // both
)

// kind defaults an object of a kind in each extent, and in forms of which the defaults differ.
func (t table) kind(gvk schema.GroupVersionKind) error {
	forms := []func(runtime.Object){func(runtime.Object) {}}
	switch gvk.Kind {
	case "Service":
		for _, kind := range []corev1.ServiceType{corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName} {
			forms = append(forms, func(o runtime.Object) { o.(*corev1.Service).Spec.Type = kind })
		}
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob", "Pod", "PodTemplate":
		forms = append(forms, withImage("registry.example/web:1"), withImage("registry.example/web"))
	}
	for _, form := range forms {
		for _, e := range []extent{nothing, lists, optional, everything} {
			o, err := legacyscheme.Scheme.New(gvk)
			if err != nil {
				return err
			}
			fillValue(reflect.ValueOf(o).Elem(), e, nil)
			form(o)
			before := reflect.ValueOf(o.DeepCopyObject()).Elem()
			legacyscheme.Scheme.Default(o)
			if err := t.compare(before, reflect.ValueOf(o).Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

// withImage gives containers an image: the policy to pull it depends on its tag.
func withImage(name string) func(runtime.Object) {
	return func(o runtime.Object) { setImages(reflect.ValueOf(o).Elem(), name) }
}

func setImages(v reflect.Value, name string) {
	switch v.Kind() { //nolint:exhaustive // of all others there is nothing to go into
	case reflect.Pointer:
		if !v.IsNil() {
			setImages(v.Elem(), name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			setImages(v.Index(i), name)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[corev1.Container]() {
			v.FieldByName("Image").SetString(name)
		}
		for i := range v.NumField() {
			f := v.Field(i)
			if f.CanSet() {
				setImages(f, name)
			}
		}
	}
}

// fillValue makes what the extent wants, but for types inside of themselves.
func fillValue(v reflect.Value, e extent, within []reflect.Type) { //nolint:gocognit // one walk over a type, read from top to bottom
	if slices.Contains(within, v.Type()) {
		return
	}
	switch v.Kind() { //nolint:exhaustive // of all others there is nothing to go into
	case reflect.Pointer:
		if e >= optional && v.CanSet() && v.Type().Elem().Kind() == reflect.Struct && !isScalar(v.Type().Elem()) {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(v.Elem(), e, within)
		}
	case reflect.Slice:
		if (e == lists || e == everything) && v.CanSet() && v.Type().Elem().Kind() == reflect.Struct && !isScalar(v.Type().Elem()) {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillValue(v.Index(0), e, within)
		}
	case reflect.Struct:
		if isScalar(v.Type()) || strings.HasSuffix(v.Type().Name(), "ObjectMeta") {
			return
		}
		within = append(within[:len(within):len(within)], v.Type())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "Status" {
				fillValue(v.Field(i), e, within)
			}
		}
	}
}

// isScalar reports whether JSON has one value for the type: a quantity, a time.
func isScalar(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

// compare takes down what was filled in.
func (t table) compare(before, after reflect.Value) error {
	for i := range after.NumField() {
		f := after.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Name == "Status" {
			continue
		}
		b, a := before.Field(i), after.Field(i)
		var err error
		switch inline := name == "" || strings.Contains(options, "inline"); {
		case !inline:
			err = t.field(after.Type(), name, b, a)
		case a.Kind() == reflect.Struct:
			err = t.compare(b, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t table) field(in reflect.Type, name string, before, after reflect.Value) error { //nolint:gocognit // one walk over a type, read from top to bottom
	if reflect.DeepEqual(before.Interface(), after.Interface()) || isEmpty(after) {
		return nil
	}
	if isEmpty(before) || isScalar(after.Type()) || after.Kind() != reflect.Struct && after.Kind() != reflect.Pointer && after.Kind() != reflect.Slice {
		if err := t.line(in, name, after); err != nil {
			return err
		}
	}
	switch {
	case isScalar(after.Type()):
	case after.Kind() == reflect.Struct:
		return t.compare(before, after)
	case after.Kind() == reflect.Pointer && after.Type().Elem().Kind() == reflect.Struct && !isScalar(after.Type().Elem()):
		if before.IsNil() {
			before = reflect.New(after.Type().Elem())
		}
		return t.compare(before.Elem(), after.Elem())
	case after.Kind() == reflect.Slice && after.Type().Elem().Kind() == reflect.Struct && before.Len() == after.Len():
		for i := range after.Len() {
			if err := t.compare(before.Index(i), after.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isEmpty reports whether nothing was there before.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // of all others there is nothing to go into
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func (t table) line(in reflect.Type, name string, v reflect.Value) error {
	text, err := json.Marshal(v.Interface())
	kind := v.Type()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() == reflect.Struct && !isScalar(kind) {
		text = []byte("{}") // with the defaults of its own fields
	}
	if err != nil {
		return err
	}
	t[fmt.Sprintf("%s %s %s\n", shortName(in), name, text)] = true
	return nil
}

// shortName is a type's name as kinds.txt has it: apps.v1.DeploymentSpec.
func shortName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(append(parts[max(0, len(parts)-2):], t.Name()), ".")
}
