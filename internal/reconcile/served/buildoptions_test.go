package served

import "testing"

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
