package served

import (
	"strings"
	"testing"
)

func TestOptionsOfKustomizeBuildThatRenderCharts(t *testing.T) {
	for options, want := range map[string]bool{
		"":              false,
		"--enable-helm": true,
		"--load-restrictor LoadRestrictionsNone  --enable-helm=true": true,
		"--enable-helm=false":                       false,
		"--enable-helmet":                           false,
		"--helm-command=--enable-helm --as-current": false,
	} {
		if got := asksForHelm(options); got != want {
			t.Errorf("%q: %t", options, got)
		}
	}
}

func TestSchemesOfFilesOfValues(t *testing.T) {
	for text, want := range map[string]string{"https": "https", " https , http,secrets ": "https http secrets", "": "", ",": ""} {
		if got := strings.Join(schemesOf(map[string]any{"helm.valuesFileSchemes": text}), " "); got != want {
			t.Errorf("%q allows %q, want %q", text, got, want)
		}
	}
	if got := strings.Join(schemesOf(nil), " "); got != "https http" {
		t.Errorf("without the setting %q are allowed", got)
	}
}
