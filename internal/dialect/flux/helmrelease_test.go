package flux

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestHelmReleasesBecomeApps(t *testing.T) {
	golden.Run(t, "testdata/helmrelease/*.txtar", func(t *testing.T, in golden.Files) string {
		a := HelmReleases{}.App(given.Object(t, in.Need(t, "cr.yaml")), policy.Policy{Remediation: policy.Remediate})
		spec, err := json.MarshalIndent(a.Release, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return appText(a) + "release: " + string(spec) + "\n"
	})
}

// TestALongNameIsShortened: the first of these was made by helm-controller v1.6.3.
func TestALongNameIsShortened(t *testing.T) {
	for name, want := range map[string]string{
		"a-name-that-is-rather-long-and-with-its-namespace-goes-over-53": "a-name-that-is-rather-long-and-with-its--03d499d5210f",
		strings.Repeat("a", 53): strings.Repeat("a", 53),
	} {
		var hr helmv2.HelmRelease
		if hr.Name = name; helmName(hr) != want {
			t.Errorf("%s: %s, want %s", name, helmName(hr), want)
		}
	}
}

// TestHelmsMarksWin: Helm puts them on the objects after the post-renderers, of which commonMetadata is one.
func TestHelmsMarksWin(t *testing.T) {
	const spec = "{commonMetadata: {labels: {app.kubernetes.io/managed-by: Flux, team: shop}, annotations: {meta.helm.sh/release-name: a, meta.helm.sh/release-namespace: b, c: d}}}"
	a := HelmReleases{}.App(given.Object(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: "+spec+"\n"), policy.Policy{})
	const want = "map[app.kubernetes.io/managed-by:Helm team:shop] map[c:d meta.helm.sh/release-name:web meta.helm.sh/release-namespace:apps]"
	if m := a.Overlay.Metadata; fmt.Sprint(m.Labels, " ", m.Annotations) != want {
		t.Errorf("%v %v, want %s", m.Labels, m.Annotations, want)
	}
}

// TestTheActionsOfAReleaseHavePoliciesForDefinitions: skipCRDs is not looked at where crds is set.
func TestTheActionsOfAReleaseHavePoliciesForDefinitions(t *testing.T) {
	for spec, want := range map[string]string{
		"":                        ", ",
		"{upgrade: {crds: Skip}}": ", skip",
		"{install: {crds: Skip}}": "skip, skip",
		"{install: {crds: Skip}, upgrade: {crds: Create}}":                   "skip, ",
		"{install: {crds: Skip}, upgrade: {crds: CreateReplace}}":            "skip, replace",
		"{install: {crds: CreateReplace}}":                                   "replace, ",
		"{upgrade: {crds: CreateReplace}}":                                   ", replace",
		"{install: {skipCRDs: true}}":                                        "skip, skip",
		"{install: {skipCRDs: true, crds: Create}, upgrade: {crds: Create}}": ", ",
		"{install: {skipCRDs: true, crds: CreateReplace}}":                   "replace, ",
		"{install: {skipCRDs: true}, upgrade: {crds: CreateReplace}}":        "skip, replace",
		"{install: {crds: Create, skipCRDs: true}, upgrade: {crds: Skip}}":   ", skip",
	} {
		a := HelmReleases{}.App(given.Object(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: "+cmp.Or(spec, "{}")+"\n"), policy.Policy{})
		if q := a.Release.Template; string(q.CRDs)+", "+string(q.UpgradeCRDs) != want {
			t.Errorf("%s: %q in an install, %q in an upgrade, want %q", spec, q.CRDs, q.UpgradeCRDs, want)
		}
	}
}

func TestStrategiesOfPostRenderersAndOfWaits(t *testing.T) {
	const marks = "commonMetadata: {labels: {team: shop}}"
	for spec, want := range map[string]string{
		"{" + marks + "}": " shop [] []",
		"{" + marks + ", postRenderStrategy: combined, waitStrategy: {name: poller}}": " shop [] []",
		"{" + marks + ", postRenderStrategy: separate}":                               "separate shop [] []",
		"{" + marks + ", postRenderStrategy: nohooks}":                                "nohooks  [] []",
		"{postRenderStrategy: none}":                                                  "  [] [spec.postRenderStrategy]",
		"{waitStrategy: {name: legacy}}":                                              "  [spec.waitStrategy: legacy has no effect: truce watches the objects, and judges them as poller does] []",
		"{waitStrategy: {name: none}}":                                                "  [] [spec.waitStrategy.name]",
	} {
		a := HelmReleases{}.App(given.Object(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: "+spec+"\n"), policy.Policy{})
		var problems []string
		for _, p := range a.Problems {
			if strings.Contains(p.Field, "Strategy") {
				problems = append(problems, p.Field)
			}
		}
		if got := fmt.Sprint(a.Release.Template.PostRenderHooks, " ", a.Release.HookMarks.Labels["team"], " ", a.Notes, " ", problems); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// TestTheFormerReleaseIsOfAnotherNameOrNamespace: one of the same name in another namespace is stored under the same name.
func TestTheFormerReleaseIsOfAnotherNameOrNamespace(t *testing.T) {
	const status = "status: {storageNamespace: apps, history: [{name: web, namespace: shop, version: 2, digest: b}, {name: web, namespace: apps, version: 1, digest: a}]}\n"
	for spec, want := range map[string]string{
		"{releaseName: web, storageNamespace: apps, targetNamespace: shop}":  "none",
		"{releaseName: next, storageNamespace: apps, targetNamespace: shop}": "shop/web in apps: map[2:b]",
		"{releaseName: web, storageNamespace: next, targetNamespace: shop}":  "shop/web in apps: map[2:b]",
		"{releaseName: web, storageNamespace: apps, targetNamespace: next}":  "shop/web in apps: map[2:b]",
		"{releaseName: web}": "shop/web in apps: map[2:b]",
	} {
		a := HelmReleases{}.App(given.Object(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: "+spec+"\n"+status), policy.Policy{})
		got := "none"
		if f := a.Release.Former; f != nil {
			got = fmt.Sprintf("%s/%s in %s: %v", f.Namespace, f.Name, f.Storage, f.Known)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// TestTheChartOfARepositoryOfFilesIsNotSearchedFor: only an archive has its chart in a directory that no field names.
func TestTheChartOfARepositoryOfFilesIsNotSearchedFor(t *testing.T) {
	for spec, want := range map[string]string{
		"{chart: {spec: {chart: ., sourceRef: {kind: GitRepository, name: r}}}}":                  ". false",
		"{chart: {spec: {chart: ./, sourceRef: {kind: Bucket, name: r}}}}":                        ". false",
		"{chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: r}}}}":         "charts/web false",
		"{chart: {spec: {chart: web, version: 1.x, sourceRef: {kind: HelmRepository, name: r}}}}": ". true",
		"{chartRef: {kind: OCIRepository, name: r}}":                                              ". true",
		"{chartRef: {kind: ExternalArtifact, name: r}}":                                           ". true",
		"{chartRef: {kind: HelmChart, name: r}}":                                                  ". false",
	} {
		a := HelmReleases{}.App(given.Object(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: "+spec+"\n"), policy.Policy{})
		if got := fmt.Sprint(a.Path, " ", a.Release.Packed); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}
