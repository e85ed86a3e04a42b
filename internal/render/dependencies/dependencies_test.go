package dependencies

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// recorder keeps what it is to render.
type recorder struct{ files source.Tree }

func (r *recorder) Render(_ context.Context, q render.Request) (render.Result, error) {
	r.files = q.Files
	return render.Result{}, nil
}

// server has one chart of each version that is not refused.
type server struct {
	asked   []string
	refuses error
}

func (s *server) SpecOf(_ context.Context, home object.ID, d chartfile.Dependency) (source.Spec, error) {
	s.asked = append(s.asked, home.Namespace+" "+d.Name+" "+d.Version)
	return source.Spec{Chart: source.Chart{Name: d.Name, Version: d.Version}}, nil
}

func (s *server) Fetch(_ context.Context, spec source.Spec) (source.Artifact, error) {
	if s.refuses != nil {
		return source.Artifact{}, s.refuses
	}
	return source.Artifact{Files: given.Files(spec.Chart.Name+"/Chart.yaml", "name: "+spec.Chart.Name+"\nversion: 1.2.0\n", spec.Chart.Name+"/templates/a.yaml", "a: 1\n")}, nil
}

const webChart = `apiVersion: v2
name: web
version: 0.1.0
dependencies:
- {name: there, version: 1.x, repository: "https://charts.example"}
- {name: lib, version: 1.x, repository: "file://../lib"}
- {name: cache, version: 1.2.0, repository: "https://charts.example"}
`

func webFiles(more ...string) given.Tree {
	return given.Files(append([]string{
		"app/web/Chart.yaml", webChart, "app/web/values.yaml", "a: 1\n", "app/web/charts/there/Chart.yaml", "name: there\nversion: 1.0.0\n", "app/web/charts/lib/README.md", "no chart\n",
		"app/lib/Chart.yaml", "name: lib\nversion: 1.0.0\n", "app/lib/templates/b.yaml", "b: 1\n",
	}, more...)...)
}

func requestFor(in source.Tree) render.Request {
	return render.Request{Files: in, Path: "app/web", Home: object.ID{Kind: "HelmRelease", Namespace: "team"}, Chart: &release.Request{}}
}

func TestAChartIsCompletedOnce(t *testing.T) {
	s, seen := &server{}, &recorder{}
	r := Renderer{Builder: seen, Charts: &Charts{Fetch: s, Repositories: s}}
	under := webFiles()
	for range 3 {
		if _, err := r.Render(t.Context(), requestFor(under)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(s.asked, ", "); got != "team cache 1.2.0" {
		t.Errorf("asked for %q, want one chart, once", got)
	}
	if err := fstest.TestFS(seen.files, "app/web/Chart.yaml", "app/web/charts/there/Chart.yaml", "app/web/charts/lib/README.md", "app/web/charts/lib-2/templates/b.yaml", "app/web/charts/cache/templates/a.yaml"); err != nil {
		t.Error(err)
	}
	if len(r.Charts.InUse(0)) != 1 {
		t.Error("what was fetched is not kept")
	}
	for name, differs := range map[string]bool{".": true, "app": true, "app/web": true, "app/web/charts": true, "app/web/values.yaml": false, "app/lib": false} {
		before, _ := under.Sum(name)
		after, err := seen.files.Sum(name)
		if err != nil || (before != after) != differs {
			t.Errorf("the sum of %s: %v, is another one: %v", name, err, before != after)
		}
	}
	other := requestFor(under)
	other.Chart = nil
	if _, err := r.Render(t.Context(), other); err != nil || fmt.Sprintf("%T", seen.files) != fmt.Sprintf("%T", under) {
		t.Errorf("what is no chart was changed: %v", err)
	}
}

func TestADirectoryOfChartsThatIsNotThere(t *testing.T) {
	s, seen := &server{}, &recorder{}
	in := given.Files("Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: cache, version: 1.x, repository: \"https://charts.example\"}\n")
	if _, err := (Renderer{Builder: seen, Charts: &Charts{Fetch: s, Repositories: s}}).Render(t.Context(), render.Request{Files: in, Path: ".", Chart: &release.Request{}}); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(seen.files, "Chart.yaml", "charts/cache/templates/a.yaml"); err != nil {
		t.Error(err)
	}
}

func TestWhatWasFetchedOutlivesItsServer(t *testing.T) {
	s, seen := &server{}, &recorder{}
	c := &Charts{Fetch: s, Repositories: s}
	r := Renderer{Builder: seen, Charts: c}
	if _, err := r.Render(t.Context(), requestFor(webFiles())); err != nil {
		t.Fatal(err)
	}
	for _, b := range c.known {
		b.at = b.at.Add(-2 * holdExact)
	}
	s.refuses = errors.New("the server is down")
	if _, err := r.Render(t.Context(), requestFor(webFiles())); err != nil || len(s.asked) != 2 {
		t.Errorf("after an hour: %v, asked %d times", err, len(s.asked))
	}
	other := requestFor(webFiles())
	other.Home.Namespace = "another"
	for range 2 {
		if _, err := r.Render(t.Context(), other); err == nil || !strings.Contains(err.Error(), "render app/web: dependency cache of Chart.yaml: the server is down") {
			t.Errorf("another namespace: %v, want its own failure", err)
		}
	}
	if len(s.asked) != 3 {
		t.Errorf("asked %d times: a failure is asked again at once", len(s.asked))
	}
}

func TestDependenciesThatCannotBeHad(t *testing.T) {
	s := &server{}
	for want, c := range map[string]struct {
		line  string
		files []string
		fetch source.Fetcher
	}{
		"commands fetch nothing":                  {line: `{name: cache, version: 1.x, repository: "https://charts.example"}`},
		"the version 1.2.0, which is not 2.x":     {line: `{name: cache, version: 2.x, repository: "https://charts.example"}`, fetch: s},
		"the version 1.0.0, which is not 3.x":     {line: `{name: lib, version: 3.x, repository: "file://../lib"}`},
		`the chart there is called "lib"`:         {line: `{name: other, version: 1.x, repository: "file://../lib"}`},
		"holds the chart itself":                  {line: `{name: other, version: 1.x, repository: "file://."}`},
		"app holds the chart itself":              {line: `{name: other, version: 1.x, repository: "file://.."}`},
		`there is no chart in "app/absent"`:       {line: `{name: other, version: 1.x, repository: "file://../absent"}`},
		"does not lead to a directory of the sam": {line: `{name: other, version: 1.x, repository: "file://../../../etc"}`, fetch: s},
	} {
		in := given.Files("app/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- "+c.line+"\n", "app/lib/Chart.yaml", "name: lib\nversion: 1.0.0\n")
		_, err := Renderer{Builder: &recorder{}, Charts: &Charts{Fetch: c.fetch, Repositories: s, Why: "commands fetch nothing"}}.Render(t.Context(), requestFor(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.line, err, want)
		}
	}
}

// hanging is a server that answers nothing until the time of a fetch is over.
type hanging struct{ asked atomic.Int32 }

func (*hanging) SpecOf(context.Context, object.ID, chartfile.Dependency) (source.Spec, error) {
	return source.Spec{}, nil
}

func (h *hanging) Fetch(ctx context.Context, _ source.Spec) (source.Artifact, error) {
	h.asked.Add(1)
	select {
	case <-ctx.Done():
		return source.Artifact{}, ctx.Err()
	case <-time.After(time.Minute):
		return source.Artifact{}, errors.New("the server hangs")
	}
}

// TestAServerThatHangsIsWaitedForOnce: its failure is the answer for all who have waited, and who is cancelled does not wait.
func TestAServerThatHangsIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hanging{}
		r := Renderer{Builder: &recorder{}, Charts: &Charts{Fetch: s, Repositories: s}}
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := r.Render(t.Context(), requestFor(webFiles())); err == nil || !strings.Contains(err.Error(), "the server hangs") {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			synctest.Wait() // until the server is asked
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := r.Render(ctx, requestFor(webFiles())); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("one that does not wait has %v after %s", err, time.Since(began))
			}
		})
		all.Wait()
		if n := s.asked.Load(); n != 1 || time.Since(began) != time.Minute {
			t.Errorf("the server was asked %d times, and all have ended after %s", n, time.Since(began))
		}
	})
}
