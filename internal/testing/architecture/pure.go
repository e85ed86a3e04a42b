package architecture

import (
	"go/ast"
	"iter"
	"slices"
	"strings"
)

// impure is what gives a package more than its arguments.
var impure = []string{"context", "os", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand"}

// outside is what a pure package must not reach, not even through what it imports: the network, other processes, the cluster.
var outside = []string{"net", "net/http", "os/exec", module + "internal/cluster"}

// clocks are the functions of package time that read or wait for the time.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// impureByNeed are packages in a pure folder that are excused from the rule, each with its reason.
var impureByNeed = map[string]string{
	"model/ignore/jq":       "runs each program under a deadline, which is a context",
	"model/schema/gen":      "a command that writes a generated file",
	"decide/health/kstatus": "the library's object type imports a package that can serve HTTP",
	"dialect/registry":      "joins the dialects, and the health checks that are excused above",
	"dialect/flux":          "the API machinery's check of a label imports a package that parses addresses",
}

// purePackagesArePure keeps context, clock, log, chance, network and cluster out of them, so that an answer can be replayed.
func purePackagesArePure(t tree, report report) {
	for p, f := range t.written() {
		if t.isPure(p) {
			pureFile(f, report)
		}
	}
	for _, p := range t.pkgs {
		if way := t.way(module+p.dir, outside); t.isPure(p) && way != nil {
			report(p.dir, "is pure and reaches %s; move that out of it", strings.Join(way[1:], " -> "))
		}
	}
}

func pureFile(f *file, report report) {
	for spec, path := range f.imports() {
		if slices.Contains(impure, path) && (path != "os" || !f.onlyExpands()) {
			report(f.at(spec), "a pure package imports %s; take the value as an argument", path)
		}
	}
	for sel := range f.selectors("time") {
		if slices.Contains(clocks, sel.Sel.Name) {
			report(f.at(sel), "a pure package calls time.%s; take the time as an argument", sel.Sel.Name)
		}
	}
}

// onlyExpands reports a file that uses nothing of os but os.Expand, which answers from its arguments.
func (f *file) onlyExpands() bool {
	for sel := range f.selectors("os") {
		if sel.Sel.Name != "Expand" {
			return false
		}
	}
	return true
}

func (t tree) isPure(p *pkg) bool {
	name, ok := internalName(p.dir)
	_, excused := impureByNeed[name]
	return ok && slices.Contains(t.layers.pure, name) && !excused
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

// soleImporter names the packages that may import a dependency.
type soleImporter struct {
	prefix   string
	packages []string
}

// soleImporters keep each heavy dependency behind one package, where it is read and can be replaced.
var soleImporters = []soleImporter{
	{"sigs.k8s.io/kustomize/", []string{"render/kustomize"}},
	{"helm.sh/helm/", []string{"render/helm"}},
	{"github.com/getsops/sops/", nil},
	{"filippo.io/age", []string{"render/sops"}},
	{"gopkg.in/ini.v1", []string{"render/sops"}},
	{"github.com/fluxcd/pkg/envsubst", []string{"render/substitute"}},
	{"golang.org/x/crypto/ssh", []string{"source/git", "source/signature"}},
	{"github.com/ProtonMail/", []string{"source/signature", "render/sops"}},
	{"github.com/fsnotify/fsnotify", []string{"source/git"}},
	{"oras.land/", []string{"source/oci"}},
	{"github.com/itchyny/gojq", []string{"model/ignore/jq"}},
	{"github.com/fluxcd/cli-utils/", []string{"decide/health/kstatus"}},
	{"github.com/google/cel-go", []string{"model/cel"}},
	{"github.com/golang-jwt/jwt", []string{"source/oidc"}},
	{"github.com/fluxcd/source-controller/", []string{"dialect/flux"}},
	{"github.com/fluxcd/source-watcher/", []string{"dialect/flux"}},
	{"github.com/fluxcd/kustomize-controller/", []string{"dialect/flux"}},
	{"github.com/fluxcd/helm-controller/", []string{"dialect/flux"}},
	{"github.com/fluxcd/notification-controller/", []string{"dialect/flux"}},
	{"github.com/fluxcd/pkg/apis/", []string{"dialect/flux"}},
	{"github.com/prometheus/", []string{"report/metrics"}},
	{"github.com/spf13/", []string{"cli"}},
	{"k8s.io/cli-runtime/", []string{"cli"}},
	{"k8s.io/client-go/", []string{
		"model/schema/gen", "cluster", "cluster/lease", "cluster/portforward", "cluster/live/list", "cluster/live/watch", "apply/ssa", "apply/impersonate", "apply/inventory/configmap", "render/validate/openapi",
		"controller", "controller/instance", "controller/leader", "view", "view/preflight", "cli", "cli/up", "web", "report/metrics",
	}},
}

// oneImporter reports the other importers of such a dependency, and other callers of git.
func oneImporter(t tree, report report) {
	for p, f := range t.written() {
		name, ok := product(p)
		if !ok {
			continue
		}
		for spec, path := range f.imports() {
			if only, ok := closed(name, path); ok {
				report(f.at(spec), "%s imports %s; only %s may: put what you need of it there", p.dir, path, only)
			}
		}
		for sel := range f.selectors("os/exec") {
			if call := f.callOf(sel); call != nil && name != "source/git" && mentions(call, `"git"`) {
				report(f.at(sel), "%s runs git; only source/git may: put what you need of it there", p.dir)
			}
		}
	}
}

// product returns the name of a package that users run, or the directory of a command.
func product(p *pkg) (string, bool) {
	name, ok := internalName(p.dir)
	if !ok {
		return p.dir, strings.HasPrefix(p.dir, "cmd/")
	}
	return name, !inTesting(name)
}

// closed returns who may import a dependency if a package may not.
func closed(name, path string) (only string, ok bool) {
	for _, d := range soleImporters {
		if strings.HasPrefix(path+"/", strings.TrimSuffix(d.prefix, "/")+"/") {
			return strings.Join(d.packages, ", "), !slices.Contains(d.packages, name)
		}
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
