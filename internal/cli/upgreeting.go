package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cli/up"
)

// export is the command after which `truce` and `kubectl`, as they are printed, mean this cluster; empty where they do so already.
func (w *upEnvironment) export(getenv func(string) string) string {
	var set []string
	if w.Kubeconfig != "" {
		set = append(set, "KUBECONFIG="+shellWord(w.Kubeconfig))
	}
	var dirs []string
	for name, path := range map[string]string{"truce": w.Truce, "kubectl": w.Kubectl} {
		if filepath.Base(path) == name && filepath.IsAbs(path) && !isFirstInPath(name, path, getenv("PATH")) {
			dirs = append(dirs, shellWord(filepath.Dir(path)))
		}
	}
	if slices.Sort(dirs); len(dirs) > 0 {
		set = append(set, "PATH="+strings.Join(slices.Compact(dirs), ":")+":$PATH")
	}
	if len(set) == 0 {
		return ""
	}
	return "export " + strings.Join(set, " ")
}

// isFirstInPath reports whether a search path finds just that program by its name.
func isFirstInPath(name, path, search string) bool {
	for _, dir := range filepath.SplitList(search) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return isSameFile(found, path)
		}
	}
	return false
}

func isSameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// shellWord is a word of a shell (POSIX, 2.2.2).
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// kubectl is the beginning of a command line after export.
func (w *upEnvironment) kubectl() string { return "kubectl" + w.inContext() }

// truce as well.
func (w *upEnvironment) truce() string {
	if filepath.Base(w.Truce) != "truce" {
		return shellWord(w.Truce)
	}
	return "truce"
}

// inContext is the flag that names a context, where it is not the kubeconfig's current one.
func (w *upEnvironment) inContext() string {
	if w.Context == "" {
		return ""
	}
	return " --context " + shellWord(w.Context)
}

// greetings is the file of the demo that the tour changes, and what it may hold.
const (
	greetings = "apps/web/base/configmap.yaml"
	hello     = "hello"
	goodbye   = "goodbye"
)

// next says what a user may try. Each command works as it is printed.
func (p *program) next(world *upEnvironment, dir string) {
	out := p.env.Out
	fmt.Fprintf(out, "\n%s\n", p.term.in(bold, "Try next, in another terminal:"))
	t := &table{indent: "  "}
	if first := world.export(p.env.Getenv); first != "" {
		t.add(plainCells("first", first)...)
	}
	if world.URL != "" {
		t.add(plainCells("the status page", world.Page)...)
	}
	t.add(plainCells("the apps", world.truce()+" app list -A"+world.inContext())...)
	t.add(plainCells("their custom resources", world.kubectl()+" get kustomizations -A")...)
	if world.Demo {
		t.add(plainCells("change by hand", world.kubectl()+" -n cart scale deployment cart --replicas=5")...)
		from, to := greeting(world.Repo)
		t.add(plainCells("change Git", fmt.Sprintf("cd %s && sed -i.bak s/%s/%s/ %s && rm %s.bak && git commit -am %s", shellWord(world.Repo), from, to, greetings, greetings, to))...)
	}
	if world.Webhooks != "" {
		t.add(plainCells("webhooks", world.Webhooks+"/hook/…  # the path is status.webhookPath of the Receiver")...)
	}
	for _, o := range world.Brought {
		if name, ok := strings.CutPrefix(o, "Kustomization/"+up.Home+"/"); ok {
			t.add(plainCells("take all away", world.kubectl()+" -n "+up.Home+" delete kustomization "+name+"  # while truce runs; then the rest of what was brought")...)
		}
	}
	if whole, err := filepath.Abs(dir); err == nil { // the other terminal may be elsewhere
		dir = whole
	}
	t.add(plainCells("the controller's log", filepath.Join(dir, "truce.log"))...)
	_ = t.print(out, p.term) // as Fprintf above: a terminal that is gone sends the signal
	fmt.Fprintf(out, "\n%s\n", p.term.in(faint, "Ctrl-C ends everything."))
}

// greeting is what the demo says, and what it may say next. An earlier run may have changed it.
func greeting(repo string) (from, to string) {
	text, err := os.ReadFile(filepath.Join(repo, greetings))
	if err == nil && !strings.Contains(string(text), hello) && strings.Contains(string(text), goodbye) {
		return goodbye, hello
	}
	return hello, goodbye
}
