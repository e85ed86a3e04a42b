package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// brokenApps are those of unevenApps: the first does not render, the second was deleted meanwhile, the third has differences. They note what the command
// had printed when the next one was looked at.
type brokenApps struct {
	unevenApps
	out  *bytes.Buffer
	seen *[]bool
}

func (b brokenApps) Inspect(ctx context.Context, k app.Key) (view.Detail, error) {
	*b.seen = append(*b.seen, b.out.Len() > 0)
	d, err := b.someApps.Inspect(ctx, k)
	switch k.Name {
	case refusedApp:
		d.Report.Stage, d.Report.Reason, d.Report.Message = report.Render, report.RenderFailed, "no such file"
	case stuckApp:
		return view.Detail{}, errors.New("not found")
	}
	return d, err
}

// TestAnAppThatCannotBeRunHoldsUpNoOther: what could be compared is printed, each app when it was looked at, and the highest exit code is that of the command.
func TestAnAppThatCannotBeRunHoldsUpNoOther(t *testing.T) {
	const stops, gone = "truce: Kustomization shop/a: render: no such file", "truce: not found"
	const total = "3 differences, 1 object that could not be compared, 1 object no longer in Git; 1 ceded field"
	for line, want := range map[string]struct {
		code   exit.Code
		says   []string
		prints int // apps
	}{
		"app diff --all":                   {exit.Render, []string{stops, gone, total + "; only 1 app could be compared"}, 1},
		"app diff c":                       {exit.Differs, []string{total}, 1},
		"app diff c c":                     {exit.Differs, []string{"6 differences, 2 objects that could not be compared, 2 objects no longer in Git; 2 ceded fields"}, 2},
		"app diff a b":                     {exit.Render, []string{stops, gone}, 0},
		"app diff a":                       {exit.Render, []string{stops}, 0},
		"app sync --all --dry-run":         {exit.Render, []string{stops, gone, total + "; only 1 app could be compared"}, 1},
		"app get --all":                    {exit.Render, []string{stops, gone}, 2},
		"app get b":                        {exit.Cluster, []string{gone}, 0},
		"app get b c -o name":              {exit.Cluster, []string{gone}, 0},
		"app get --all -o json":            {exit.Render, []string{stops, gone}, 0},
		"app diff --all -o json":           {exit.Render, []string{stops, gone}, 0},
		"app diff a -o json":               {exit.Render, []string{stops}, 0},
		"app diff --all --exit-code=false": {exit.Render, []string{stops, gone, total + "; only 1 app could be compared"}, 1},
	} {
		var out, errs bytes.Buffer
		apps := brokenApps{unevenApps: newUnevenApps(), out: &out, seen: new([]bool)}
		args := append(strings.Fields(line), "-n", "shop")
		env := Environment{Out: &out, Err: &errs, Program: "truce", Args: args, Getenv: func(string) string { return "" }}
		code := exit.Code(Execute(t.Context(), env, Backend{Clusters: answers{Cluster{AppReader: apps, AppEditor: apps, Resources: someResources{}}}}))
		if code != want.code {
			t.Errorf("%s: exit code %d, want %d", line, code, want.code)
		}
		var says []string
		for said := range strings.Lines(errs.String()) {
			if !strings.HasPrefix(said, "note: ") {
				says = append(says, strings.TrimSuffix(said, "\n"))
			}
		}
		if diff := cmp.Diff(want.says, says); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
		if prints := strings.Count(out.String(), "spec.paused: nothing"); !strings.Contains(line, "-o") && prints != want.prints {
			t.Errorf("%s prints %d apps, want %d:\n%s", line, prints, want.prints, out.String())
		}
		if n := len(*apps.seen); strings.HasPrefix(line, "app get --all") && !strings.Contains(line, "json") && !(*apps.seen)[n-1] {
			t.Errorf("%s printed nothing before the last app", line)
		}
	}
}

// TestAListOfAppsIsWholeWithoutThoseThatFail: the JSON of several apps is a list of those that there is something of.
func TestAListOfAppsIsWholeWithoutThoseThatFail(t *testing.T) {
	for line, want := range map[string][]string{
		"app get --all -o json":  {"a", "c"},
		"app diff --all -o json": {"c"},
		"app diff a b -o json":   {},
	} {
		var out, errs bytes.Buffer
		apps := brokenApps{unevenApps: newUnevenApps(), out: &out, seen: new([]bool)}
		env := Environment{Out: &out, Err: &errs, Program: "truce", Args: append(strings.Fields(line), "-n", "shop"), Getenv: func(string) string { return "" }}
		Execute(t.Context(), env, Backend{Clusters: answers{Cluster{AppReader: apps}}})
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(out.Bytes(), &list); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		got := []string{}
		for _, i := range list.Items {
			got = append(got, i.Metadata.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}
