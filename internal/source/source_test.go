package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

func TestCredentialsDoNotPrint(t *testing.T) {
	const canary = "canary"
	spec := source.Spec{Auth: source.Auth{
		Username: canary, Password: canary, BearerToken: canary, CABundle: canary, ClientCert: canary, ClientKey: canary,
		Identity: canary, IdentityPassword: canary, KnownHosts: canary, AppCABundle: canary,
	}}
	marshalled, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(spec), fmt.Sprintf("%+v", spec), fmt.Sprintf("%#v", spec), fmt.Sprintf("%v", &spec), fmt.Sprintf("%s %x %d", spec.Auth, spec.Auth, spec.Auth),
		string(marshalled),
	} {
		if strings.Contains(text, canary) {
			t.Errorf("credential printed: %s", text)
		}
	}
}

func TestErrorsSayOperationSubjectAndCauseOnce(t *testing.T) {
	err := error(&source.Error{Op: "fetch", Subject: "https://example.com/a", Reason: source.RefNotFound, Err: fs.ErrNotExist})
	if got, want := err.Error(), "fetch https://example.com/a: file does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestLimitsHaveDefaults(t *testing.T) {
	want := source.Limits{Bytes: 512 << 20, Files: 7, PathLength: 4096}
	if got := (source.Limits{Files: 7, Bytes: -1}).OrDefault(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
