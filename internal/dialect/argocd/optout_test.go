package argocd

import (
	"strconv"
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestWhichTextsSkipAnApplication compares the list with strconv.ParseBool, by which Argo CD reads the annotation.
func TestWhichTextsSkipAnApplication(t *testing.T) {
	at := field.NewPath("metadata", "annotations", skipKey)
	for _, text := range []string{"true", "True", "TRUE", "t", "T", "1", "false", "False", "F", "0", "", "yes", "tRUE", " true"} {
		is, err := strconv.ParseBool(text)
		skips := is && err == nil
		cr := object.Object{
			"apiVersion": apiVersion, "kind": application,
			"metadata": map[string]any{"name": "web", "namespace": "argocd", "annotations": map[string]any{skipKey: text}},
		}
		if got := (Applications{}).App(cr, policy.Policy{}).Suspended; got != skips {
			t.Errorf("%q: suspended: %v, want %v", text, got, skips)
		}
		if got := Switches.Stops(cr, at, text); got != skips {
			t.Errorf("%q: stops the Application: %v, want %v", text, got, skips)
		}
	}
	if Switches.Stops(object.Object{"apiVersion": apiVersion, "kind": application}, at, true) {
		t.Error("an annotation that is no text stops the Application")
	}
}
