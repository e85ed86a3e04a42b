package redact_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

func sensitiveMask() (redact.Mask, redact.Sensitive) {
	known := redact.KnownOf("canary")
	s := redact.Sensitive{Known: &known, Fields: [][]string{
		{"spec", "replicas"},
		{"spec", "containers", redact.AnyItem, "args"},
		{"spec", "containers", redact.ItemNamed("web"), "env", redact.ItemNamed("PASSWORD"), "value"},
	}}
	return redact.Mask{Key: []byte("key")}.With(s), s
}

func TestSensitiveFieldsAreHiddenByTheirPathsAndTheirValues(t *testing.T) {
	m, _ := sensitiveMask()
	id := object.ID{Group: "apps", Kind: "Deployment", Name: "web"}
	env := func(container, name string) field.Path {
		return at("spec", "containers", itemOf(container), "env", itemOf(name), "value")
	}
	for _, c := range []struct {
		path          field.Path
		value         any
		hidden, shown string // hidden must not be in what is shown
	}{
		{at("spec", "replicas"), int64(3), "3", "***"},
		{at("spec", "paused"), true, "", "true"},
		{env("web", "PASSWORD"), "s3", "s3", "***"},
		{env("web", "OPEN"), "s3", "", "s3"},
		{env("api", "PASSWORD"), "s3", "", "s3"},
		{at("spec", "containers", itemOf("api"), "args"), []any{"s3"}, "s3", "***"},
		{at("metadata", "annotations"), map[string]any{"a": "x-canary-x"}, "canary", "a"},
		{at("spec"), map[string]any{"replicas": int64(3), "paused": true}, "3", "true"},
		{at("spec", "containers"), []any{map[string]any{"name": "web", "env": []any{
			map[string]any{"name": "PASSWORD", "value": "s3"}, map[string]any{"name": "OPEN", "value": "free"},
		}}}, "s3", "free"},
	} {
		got := withoutDigits(fmt.Sprint(m.Show(id, c.path, redact.HideValue(c.value))))
		if c.hidden != "" && strings.Contains(got, c.hidden) || !strings.Contains(got, c.shown) {
			t.Errorf("%s: %v is shown as %s", field.PathString(c.path), c.value, got)
		}
	}
}

// at is a path of names and of elements.
func at(parts ...any) field.Path {
	var out field.Path
	for _, p := range parts {
		if name, ok := p.(string); ok {
			out = append(out, field.NewPath(name)...)
		} else {
			out = append(out, p.(field.Element))
		}
	}
	return out
}

func itemOf(name string) field.Element {
	return field.KeyElement(map[string]any{"name": name}, []string{"name"})
}

var digits = regexp.MustCompile(`\*\*\* \([0-9a-f]+\)`)

// withoutDigits leaves out of marks what depends on the key.
func withoutDigits(s string) string { return digits.ReplaceAllString(s, "***") }

func TestAnObjectWithSensitiveFieldsKeepsItsIdentityAndIsNotChanged(t *testing.T) {
	m, s := sensitiveMask()
	o := object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "canary", "labels": map[string]any{"a": "canary"}}, "spec": map[string]any{"replicas": int64(3)}}
	before := fmt.Sprint(map[string]any(o))
	shown, masked := m.Object(o)
	got := shown.Object()
	if !masked || got.Name() != "canary" || strings.Contains(fmt.Sprint(got["spec"], got.At("metadata", "labels")), "canary") || fmt.Sprint(got.At("spec", "replicas")) == "3" {
		t.Errorf("masked %v: %v", masked, shown)
	}
	shown, _ = redact.Mask{}.With(redact.Sensitive{Fields: [][]string{{}}}).Object(o)
	whole := shown.Object()
	if whole.Name() != "" && whole.Name() != "canary" || whole.GVK().Kind != "Deployment" || strings.Contains(fmt.Sprint(whole["spec"]), "3") {
		t.Errorf("hidden as a whole: %v", shown)
	}
	if fmt.Sprint(map[string]any(o)) != before {
		t.Errorf("the object itself became %v", map[string]any(o))
	}
	text := s.Message(`Deployment.apps "web" is invalid: spec.replicas: Invalid value: 3: and canary`)
	if strings.Contains(text, "3") || strings.Contains(text, "canary") || !strings.Contains(text, "spec.replicas") {
		t.Error(text)
	}
	if open := (redact.Sensitive{}).Message(`invalid value: "a"`); open != `invalid value: "a"` {
		t.Error(open)
	}
}
