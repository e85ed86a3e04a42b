package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

var secret = object.ID{Kind: "Secret", Namespace: "shop", Name: "db"}

const canary = "c4n4ry"

func TestCredentialsAreTakenOutOfAnyText(t *testing.T) {
	for text, want := range map[string]string{
		"clone https://me:" + canary + "@host/repo":            "clone https://***@host/repo",
		"HTTPS://" + canary + "@host":                          "HTTPS://***@host",
		"https://me:pa/ss@" + canary + "@host/repo":            "https://***@host/repo",
		"htt\x01ps://me:" + canary + "@host":                   "https://***@host",
		"GET https://host/x?a=b&token=" + canary + "&c=d":      "GET https://host/x?a=b&token=***&c=d",
		"GET https://host/x?X-Amz-Signature=" + canary:         "GET https://host/x?X-Amz-Signature=***",
		"Authorization: Basic " + canary + canary:              "Authorization: Basic ***",
		"header bearer " + canary + canary + " refused":        "header bearer *** refused",
		"-----BEGIN RSA PRIVATE KEY-----\n" + canary:           "-----BEGIN RSA PRIVATE KEY----- *** ",
		"basic authentication failed":                          "basic authentication failed",
		"git@host:shop/repo: not found":                        "git@host:shop/repo: not found",
		"https://host/a and mail@host":                         "https://host/a and mail@host",
		"\x1b[31mred\x1b[0m\u202e\u0085\ta\nb":                 "[31mred[0m\ta\nb",
		"render overlays/prod: kustomization.yaml:7: no such ": "render overlays/prod: kustomization.yaml:7: no such ",
	} {
		if got := redact.MaskText(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestWhatTheServerQuotesOfASecretIsMasked(t *testing.T) {
	for _, text := range []string{
		`failed to create typed patch object (shop/db; /v1, Kind=Secret): .data.password: expected string, got &value.valueUnstructured{Value:` + canary + `}`,
		`failed to create typed patch object (shop/db; /v1, Kind=Secret): .data.password: expected string, got &{[a ` + canary + `, b]}`,
		`Secret "db" is invalid: data[` + "`" + canary + "`" + `]: Invalid value: "` + canary + `": a valid config key`,
		`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4, error found in #10 byte of ...|:"` + canary + `"}|..., bigger context ...|` + canary,
		`Secret "db" is invalid: type: Invalid value: ` + canary + `: field is immutable`,
		`unclosed "` + canary,
		"got two\nlines " + canary,
	} {
		if got := redact.Message(secret, text); strings.Contains(got, canary) {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := redact.Message(object.ID{Kind: "ConfigMap"}, `data: Invalid value: "x"`); got != `data: Invalid value: "x"` {
		t.Errorf("a ConfigMap's message became %q", got)
	}
}

func TestOnlyASecretsMetadataIsOpen(t *testing.T) {
	m := redact.Mask{Key: []byte("key")}
	for path, open := range map[string]bool{
		"data/password": false, "stringData/password": false, "data": false, "metadata": false, "metadata/annotations": false,
		"metadata/annotations/kubectl.kubernetes.io": false, "metadata/labels/app": true, "type": true, "immutable": true, "other": false,
	} {
		got := fmt.Sprint(m.Value(secret, field.NewPath(strings.Split(path, "/")...), map[string]any{"a": []any{canary}}))
		if strings.Contains(got, canary) == !open {
			t.Errorf("%s shows %s", path, got)
		}
	}
	if got := fmt.Sprint(m.Value(secret, nil, map[string]any{"data": canary})); strings.Contains(got, canary) {
		t.Errorf("the whole object shows %s", got)
	}
	if got := m.Value(object.ID{Group: "example.com", Kind: "Secret"}, nil, canary); got != canary {
		t.Errorf("another group's Secret shows %v", got)
	}
}

func TestMarksCompareWithinAProcessOnly(t *testing.T) {
	a, b := redact.Mask{Key: []byte("a")}, redact.Mask{Key: []byte("b")}
	p := field.NewPath("data", "x")
	if a.Value(secret, p, "1") != a.Value(secret, p, "1") || a.Value(secret, p, "1") == a.Value(secret, p, "2") {
		t.Error("marks do not tell equal from different")
	}
	if a.Value(secret, p, "1") == b.Value(secret, p, "1") {
		t.Error("two processes have the same mark")
	}
	if got := (redact.Mask{}).Value(secret, p, "1"); got != "***" {
		t.Errorf("the zero Mask shows %v", got)
	}
	if a.Value(secret, p, nil) != nil {
		t.Error("nothing has a mark")
	}
}

func FuzzText(f *testing.F) {
	f.Add("https://a:b@c?token=x \x1b[0m -----BEGIN PRIVATE KEY----- bearer 12345678")
	f.Fuzz(func(t *testing.T, s string) {
		once := redact.MaskText(s)
		if strings.ContainsAny(once, "\x00\x07\x08\x1b\x7f\u009b\u202e") {
			t.Fatalf("%q has control characters", once)
		}
		if twice := redact.MaskText(once); len(redact.MaskText(twice)) > len(twice) {
			t.Fatalf("%q grows: %q", once, twice)
		}
		for _, text := range []string{"see https://me:" + canary + "@host " + s, s + " https://me:" + canary + "@host", s + "\x01?token=" + canary} {
			if strings.Contains(redact.MaskText(text), canary) && !strings.Contains(s, canary) {
				t.Fatalf("%q became %q", text, redact.MaskText(text))
			}
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add(`.data.a: expected string, got `, ``)
	f.Add(`Invalid value: `, ` must be`)
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, canary) {
			return
		}
		for _, text := range []string{before + `"` + canary + `"` + after, "Invalid value: " + before + canary + after} {
			if strings.Count(before, `"`)%2 == 0 && !strings.ContainsAny(before, "\\`") && strings.Contains(redact.Message(secret, text), canary) {
				t.Fatalf("%q became %q", text, redact.Message(secret, text))
			}
		}
	})
}
