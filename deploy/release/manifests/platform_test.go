package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPodsGoWhereTheImageRuns compares what is installed with the platform of deploy/release/image, and the Dockerfile, which no test builds.
func TestPodsGoWhereTheImageRuns(t *testing.T) {
	layout, err := os.ReadFile("../image/layout.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Architecture: "(\w+)"`).FindStringSubmatch(string(layout))
	if found == nil {
		t.Fatal("deploy/release/image/layout.go names no architecture")
	}
	arch := found[1]
	overlays, err := filepath.Glob(filepath.Join(deploy, "overlays/*"))
	if err != nil || len(overlays) == 0 {
		t.Fatalf("%d overlays, %v", len(overlays), err)
	}
	for _, dir := range overlays {
		built, err := kustomizeBuild(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(values{"kubernetes.io/arch": arch}), nodeSelector(objects(t, built))); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", dir, diff)
		}
	}
	dockerfile, err := os.ReadFile(filepath.Join(deploy, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--platform linux/" + arch, `test "$TARGETARCH" = ` + arch, "FROM --platform=$BUILDPLATFORM golang"} {
		if !strings.Contains(string(dockerfile), want) {
			t.Errorf("deploy/Dockerfile has no %q", want)
		}
	}
}

// TestAnImageOfOnesOwnRunsElsewhere: the chart's value is a default.
func TestAnImageOfOnesOwnRunsElsewhere(t *testing.T) {
	const arch = "kubernetes.io/arch"
	for _, test := range []struct {
		reason      string
		given, want any
	}{
		{"another architecture", values{arch: "arm64"}, values{arch: "arm64"}},
		{"of several", values{arch: nil}, nil},
		{"beside another label", values{"disk": "ssd"}, values{arch: "amd64", "disk": "ssd"}},
	} {
		if diff := cmp.Diff(test.want, nodeSelector(objects(t, template(t, values{"nodeSelector": test.given})))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func nodeSelector(built map[string]values) any {
	return built["Deployment/truce"]["spec"].(values)["template"].(values)["spec"].(values)["nodeSelector"]
}
