package house

import (
	"go/ast"
	"iter"
	"slices"
	"strings"
)

// judges answer from their arguments alone, so that an answer can be replayed.
var judges = []string{
	"object", "field", "ownership", "redact", "ignore", "app", "desired", "health", "claim", "witness", "compare", "fight", "decide",
}

// unjudicial is what gives a judge more than its arguments.
var unjudicial = []string{"context", "os", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand"}

// clocks are the functions of package time that know what time it is.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// judgesOnlyJudge keeps context, clock, log and chance out of them.
func judgesOnlyJudge(h house, say say) {
	for p, f := range h.written() {
		if name, ok := room(p.dir); !ok || !slices.Contains(judges, name) {
			continue
		}
		for spec, path := range f.imports() {
			if slices.Contains(unjudicial, path) {
				say(f.at(spec), "a judge imports %s; hand it the value instead", path)
			}
		}
		for sel := range f.selectors("time") {
			if slices.Contains(clocks, sel.Sel.Name) {
				say(f.at(sel), "a judge calls time.%s; take the time as an argument", sel.Sel.Name)
			}
		}
	}
}

// selectors yields each use of a package in the file, such as time.Now.
func (f *file) selectors(pkg string) iter.Seq[*ast.SelectorExpr] {
	name := f.called(pkg)
	return func(yield func(*ast.SelectorExpr) bool) {
		for n := range ast.Preorder(f.syntax) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || name == "" {
				continue
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && !yield(sel) {
				return
			}
		}
	}
}

// door says which rooms may import a dependency.
type door struct {
	prefix string
	rooms  []string
	// children says that every child may as well.
	children bool
}

var doors = []door{
	{prefix: "sigs.k8s.io/kustomize/", rooms: []string{"render/kustomize", "render/worker"}},
	{prefix: "helm.sh/helm/", rooms: []string{"render/helm"}},
	{prefix: "github.com/getsops/sops/", rooms: []string{"decrypt/sops"}},
	{prefix: "github.com/go-git/", rooms: []string{"source/git"}},
	{prefix: "golang.org/x/crypto/ssh", rooms: []string{"source/git"}},
	{prefix: "github.com/fsnotify/fsnotify", rooms: []string{"source/git"}},
	{prefix: "oras.land/", rooms: []string{"source/oci", "source/chart"}},
	{prefix: "github.com/itchyny/gojq", rooms: []string{"ignore/jq"}},
	{prefix: "github.com/fluxcd/cli-utils/", rooms: []string{"health/kstatus"}},
	{prefix: "github.com/google/cel-go", rooms: []string{"health/cel"}},
	{prefix: "github.com/yuin/gopher-lua", rooms: []string{"health/lua"}},
	{prefix: "github.com/fluxcd/source-controller/", rooms: []string{"front/flux"}},
	{prefix: "github.com/fluxcd/kustomize-controller/", rooms: []string{"front/flux"}},
	{prefix: "github.com/fluxcd/helm-controller/", rooms: []string{"front/flux"}},
	{prefix: "github.com/fluxcd/notification-controller/", rooms: []string{"front/flux"}},
	{prefix: "github.com/fluxcd/pkg/apis/", rooms: []string{"front/flux"}},
	{prefix: "github.com/prometheus/", rooms: []string{"metrics"}},
	{prefix: "github.com/spf13/", rooms: []string{"cli"}},
	{prefix: "k8s.io/cli-runtime/", rooms: []string{"cli"}},
	{prefix: "k8s.io/client-go/", rooms: []string{"lease", "cluster", "controller", "cli", "web", "metrics", "wire"}, children: true},
}

// oneDoor keeps each heavy dependency behind one package, so that it can be replaced, and read, in one place.
func oneDoor(h house, say say) {
	for p, f := range h.written() {
		name, ok := product(p)
		if !ok {
			continue
		}
		for spec, path := range f.imports() {
			if d, ok := closed(name, path); ok {
				say(f.at(spec), "%s imports %s; only %s may: put what you need of it there", p.dir, path, d)
			}
		}
		for sel := range f.selectors("os/exec") {
			if call := f.callOf(sel); call != nil && name != "source/git" && mentions(call, `"git"`) {
				say(f.at(sel), "%s runs git; only source/git may: put what you need of it there", p.dir)
			}
		}
	}
}

// product returns the room's name, or the directory of a command, of what users run.
func product(p *pkg) (string, bool) {
	name, ok := room(p.dir)
	if !ok {
		return p.dir, strings.HasPrefix(p.dir, "cmd/")
	}
	return name, !slices.Contains(testRooms, parent(name))
}

// closed returns those for whom the door stands open when it is closed for a room.
func closed(name, path string) (open string, ok bool) {
	for _, d := range doors {
		if !strings.HasPrefix(path+"/", strings.TrimSuffix(d.prefix, "/")+"/") {
			continue
		}
		if slices.Contains(d.rooms, name) || d.children && isChild(name) {
			return "", false
		}
		open = strings.Join(d.rooms, ", ")
		if d.children {
			open += " and children"
		}
		return open, true
	}
	return "", false
}

// callOf returns the call of which the selector is the function.
func (f *file) callOf(sel *ast.SelectorExpr) *ast.CallExpr {
	for n := range ast.Preorder(f.syntax) {
		if call, ok := n.(*ast.CallExpr); ok && call.Fun == sel {
			return call
		}
	}
	return nil
}

func mentions(call *ast.CallExpr, literal string) bool {
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		lit, ok := arg.(*ast.BasicLit)
		return ok && lit.Value == literal
	})
}
