package report_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// TestAFindingIsMaskedWhole: every field of a judged finding is in the reported one, and the values of a Secret are masked.
func TestAFindingIsMaskedWhole(t *testing.T) {
	var f decide.Finding
	v := reflect.ValueOf(&f).Elem()
	fill(v)
	f.Path, f.Kind = field.NewPath("data", "password"), compare.Changed
	f.Desired, f.Live = redact.HideValue("c4n4ry"), redact.HideValue("c4n4ry too")
	got := report.MaskFinding(redact.Mask{}, object.ID{Kind: "Secret", Name: "db"}, f)
	if text := fmt.Sprintf("%#v", got); strings.Contains(text, "c4n4ry") {
		t.Error(text)
	}
	shown := reflect.ValueOf(got)
	for _, judged := range reflect.VisibleFields(v.Type()) {
		if judged.Anonymous {
			continue
		}
		value := shown.FieldByName(judged.Name)
		if !value.IsValid() || value.IsZero() {
			t.Errorf("%s is lost", judged.Name)
		}
	}
}

// fill sets the texts and truths of a struct.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			if f.Type().PkgPath() != "time" && f.NumField() > 0 && f.Field(0).CanSet() {
				fill(f)
			}
		default: // numbers and others stay zero
		}
	}
}
