package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

const scaled = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: NAME, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  minReplicas: 2
  maxReplicas: 10
`

// fought is a survey of an app whose Deployments name replicas, each beside an autoscaler.
func fought(t *testing.T, names ...string) discover.Discovery {
	t.Helper()
	u := discover.Unit{Dialect: discover.Bare, App: app.App{Path: "apps/web", Key: app.Key{Name: "apps/web"}}, File: "apps/web/kustomization.yaml", Line: 1}
	files := fstest.MapFS{}
	for _, name := range names {
		file := "apps/web/" + name + ".yaml"
		text := strings.ReplaceAll(scaled, "NAME", name)
		files[file] = &fstest.MapFile{Data: []byte(text)}
		objects, err := render.Manifests(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			u.Objects = append(u.Objects, desired.Object{ID: o.Data.ID(), GVK: o.Data.GVK(), Data: o.Data, File: o.File, Line: o.Line})
		}
		u.Reads = append(u.Reads, file)
	}
	return discover.Discovery{Files: files, Units: []discover.Unit{u}}
}

func audits(t *testing.T, s discover.Discovery, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	env := Environment{Out: &o, Err: &e, Program: "truce", Args: append([]string{"audit"}, args...), Getenv: func(string) string { return "" }}
	code = Execute(t.Context(), env, Backend{Repositories: oneRepository{s}})
	return o.String(), e.String(), code
}

func TestWhatTheBaselineKnowsDoesNotFail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.yaml")
	if out, errs, code := audits(t, fought(t, "web")); code != int(exit.Differs) {
		t.Fatalf("without a baseline: exit code %d, %s\n%s", code, errs, out)
	}
	if out, errs, code := audits(t, fought(t, "web"), "--write-baseline", file); code != 0 || !strings.Contains(errs, "known by "+file) {
		t.Fatalf("while it is written: exit code %d, %s\n%s", code, errs, out)
	}
	if out, errs, code := audits(t, fought(t, "web"), "--baseline", file, "--fail-on", "info"); code != 0 || !strings.Contains(out, "known by the baseline\n  apps/web/") {
		t.Errorf("known: exit code %d, %s\n%s", code, errs, out)
	}
	out, errs, code := audits(t, fought(t, "web", "cart"), "--baseline", file, "-o", "json")
	var got struct {
		Known, Errors int
		Stale         []any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != int(exit.Differs) || got.Known == 0 || got.Errors == 0 || len(got.Stale) > 0 {
		t.Errorf("one more: exit code %d, %s, %+v", code, errs, got)
	}
}

func TestAStaleEntryIsSaidWhereEverythingWasLookedAt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.yaml")
	audits(t, fought(t, "web", "cart"), "--write-baseline", file)
	whole, part, broken := fought(t, "web"), fought(t, "web"), fought(t)
	part.Part = discover.Part{Directory: "apps"}
	broken.Units[0].Err = errors.New("does not render")
	for name, test := range map[string]struct {
		survey discover.Discovery
		stale  bool
	}{"whole": {whole, true}, "part": {part, false}, "broken": {broken, false}} {
		out, errs, code := audits(t, test.survey, "--baseline", file)
		if code != 0 || strings.Contains(out, "stale in the baseline") != test.stale {
			t.Errorf("%s: exit code %d, %s\n%s", name, code, errs, out)
		}
	}
}

func TestABaselineThatCannotBeReadIsAMatterOfUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: audit.truce.dev/v1\nkind: Baseline\nfindings:\n- rule: a\n  line: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"known.yaml:5: unknown key line": {"--baseline", file},
		"no such file":                   {"--baseline", file + "x"},
		"is a directory":                 {"--write-baseline", filepath.Dir(file)},
	} {
		out, errs, code := audits(t, fought(t, "web"), args...)
		if code != int(exit.Usage) || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%q: exit code %d, %s\n%s", args, code, errs, out)
		}
	}
}

const (
	unselected = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: c, image: i}]}
`
	readable = `apiVersion: v1
kind: Secret
metadata: {name: web}
data: {password: aHVudGVyMi1hbmQtbW9yZQ==}
`
)

// overlaid is a survey of overlays of one base, each with a namespace of its own, in which a manifest is wrong.
func overlaid(t *testing.T, manifest string, overlays ...string) discover.Discovery {
	t.Helper()
	const file = "base/web.yaml"
	s := discover.Discovery{Files: fstest.MapFS{file: &fstest.MapFile{Data: []byte(manifest)}}}
	for _, name := range overlays {
		objects, err := render.Manifests(file, []byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		o := objects[0]
		o.Data.Metadata()["namespace"] = name
		if manifest == readable { // what is said of a manifest calls it as the file does
			o.Data.Metadata()["name"] = name + "-web"
		}
		s.Units = append(s.Units, discover.Unit{
			Dialect: discover.Bare, App: app.App{Path: "overlays/" + name, Key: app.Key{Name: "overlays/" + name}}, File: "overlays/" + name + "/kustomization.yaml", Line: 1,
			Objects: []desired.Object{{ID: o.Data.ID(), GVK: o.Data.GVK(), Data: o.Data, File: o.File, Line: o.Line}}, Reads: []string{file},
		})
	}
	return s
}

func TestWhatIsKnownOfABaseStaysKnownWithOneMoreOverlay(t *testing.T) {
	for name, manifest := range map[string]string{"of the objects": unselected, "of the manifests": readable} {
		file := filepath.Join(t.TempDir(), "known.yaml")
		audits(t, overlaid(t, manifest, "production"), "--write-baseline", file)
		out, errs, code := audits(t, overlaid(t, manifest, "dev", "production"), "--baseline", file, "--fail-on", "warning")
		if code != 0 || !strings.Contains(out, " known 1,") || strings.Contains(out, "stale") {
			t.Errorf("%s: exit code %d, %s\n%s", name, code, errs, out)
		}
	}
}
