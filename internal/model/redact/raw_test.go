package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// holder has Raw values where fmt may not ask their methods: in unexported fields, maps and pointers.
type holder struct {
	Open   redact.Raw
	closed redact.Raw
	deep   map[string][]*redact.Raw
}

func TestARawValueIsInNoOutput(t *testing.T) {
	for name, value := range map[string]any{"text": canary, "map": map[string]any{"password": canary}, "list": []any{canary}} {
		t.Run(name, func(t *testing.T) {
			raw := redact.HideValue(value)
			nested := holder{Open: raw, closed: raw, deep: map[string][]*redact.Raw{"a": {&raw}}}
			for _, v := range []any{raw, &raw, []redact.Raw{raw}, map[string]any{"a": raw}, nested, &nested} {
				for _, text := range outputs(t, v) {
					if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
						t.Errorf("%T is shown: %s", v, text)
					}
				}
			}
		})
	}
	if text := fmt.Sprintf("%v", redact.HideValue(canary)); text != "[redacted]" {
		t.Errorf("printed as %q", text)
	}
}

// outputs are the ways in which a value gets out of the process.
func outputs(t *testing.T, v any) []string {
	var out []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		out = append(out, fmt.Sprintf(verb, v))
	}
	out = append(out, fmt.Sprint(v), fmt.Sprintln(v), fmt.Errorf("why: %v", v).Error())
	text, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%T has no JSON: %v", v, err)
	}
	out = append(out, string(text))
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("look", "value", v)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("look", "value", v)
	if err := template.Must(template.New("").Parse("{{.}}")).Execute(&b, v); err != nil {
		t.Error(err)
	}
	return append(out, b.String())
}

func TestOnlyAMaskShowsARawValue(t *testing.T) {
	secret := object.ID{Kind: "Secret", Namespace: "shop", Name: "db"}
	p := field.NewPath("data", "password")
	if got := (redact.Mask{}).Show(secret, p, redact.HideValue(canary)); got != "***" {
		t.Errorf("of a Secret: %v", got)
	}
	if got := (redact.Mask{}).Show(object.ID{Kind: "ConfigMap", Name: "x"}, p, redact.HideValue("b")); got != "b" {
		t.Errorf("of a ConfigMap: %v", got)
	}
	if got := (redact.Mask{}).Show(secret, p, redact.Raw{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestRawValuesAreComparedAsJSON(t *testing.T) {
	if !redact.HideValue(int64(1)).Equal(redact.HideValue(1.0)) || redact.HideValue("1").Equal(redact.HideValue(int64(1))) || !redact.HideValue(nil).IsNil() {
		t.Error("1 is 1.0 and is not \"1\"; nil is nothing")
	}
}
