package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"github.com/truce-gitops/truce/internal/dialect"
)

const commandsPage = "../../docs/commands.md"

// shows are the stories of testdata that show what a command prints.
var shows = map[string][]string{
	"list": {"list", "list-wide"}, "get": {"get-application", "get"}, "diff": {"diff", "diff-wide"}, "why": {"why"}, "blame": {"blame"},
}

const pageHead = `# Commands about apps

An app is a Kustomization or a HelmRelease of Flux, or an Application of Argo CD; the commands are the same for all. This page is
generated (make golden) from the program's --help and from the outputs that its tests compare.

## Called as argocd

A symbolic link to truce with the name argocd accepts the app commands of argocd that truce has: create, delete, diff,
get, history, list, rollback, set, sync, terminate-op, unset and wait.

    argocd app get grokdevops
    argocd app diff grokdevops
    argocd app set grokdevops --ignore-difference '{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]}'
    argocd app sync grokdevops
    argocd app history grokdevops
    argocd app rollback grokdevops

It does not have resources, manifests, logs, actions, edit, patch, get-resource, patch-resource, delete-resource, add-source,
remove-source and confirm-deletion: each says what to use instead, and ends with 20.

| | called as truce | called as argocd |
|---|---|---|
| namespace without -n | the context's | argocd first, then wherever the name is the only one |
| NAME | name, kind/name | name or namespace/name of an Application; kind/name of any app |
| app list, and what -l, --field-selector, --all and -A select | all apps | Applications alone |
| app list and app get, -o json and yaml | truce's own form: AppList, App | the Applications as they are in the cluster: an array, and for one name the object, with --refresh and --hard-refresh after that |
| app list and app get -o name | kind/name | namespace/name |
| app create makes | a GitRepository and a Kustomization | an Application |
| app delete without a terminal | wants -y | goes on, as argocd does |
| exit codes | 0 same, 1 differs, 2 usage, 3 cluster, 4 source or render, 130 interrupted | 0 same, 1 differs or nothing to set, 130 interrupted, 20 all other errors |
| app sync, wait, rollback and delete --wait without --timeout | give up after 5 minutes | wait for ever |
| --core, --server, --auth-token, --grpc-web, … | unknown | taken, with a note: truce uses the Kubernetes API |
| login, logout, relogin | unknown | nothing to do |
| app sync --force | refused: only Git asks for that (spec.force of a Kustomization) | the same |
| app sync --dry-run with --revision, --resource or --sync-option | refused: the dry run is that of the whole app | the same |
| app get --show-operation, --show-params; app delete --propagation-policy background | taken, with a note that they have no effect | the same |

No released argocd has --ignore-difference.
`

const pageMoves = `
# Commands that move an app between controllers

See [adopt.md](adopt.md).
`

const pageVerbs = `
# Commands of flux

They show and steer custom resources of Flux and Argo CD as the statuses say, sources too. KIND is kustomization (ks),
helmrelease (hr), application (app), or source git, oci, bucket, helm, chart; kubectl's form is taken as well: truce get
gitrepositories, truce reconcile kustomization/web. Without -n the namespace is the one of the context. The stock flux
works on truce's custom resources, too.
`

const pageObjects = `
# Commands about one object

They take any object of the cluster, named as in kubectl, whether an app contains it or not.
`

const pageNotify = `
# Commands about messages

See [notifications.md](notifications.md).
`

const pageFiles = `
# Commands about files

They need no cluster. docs/offline.md has more of them.
`

// TestThePageOfCommandsIsTrue keeps docs/commands.md equal to what the program says of itself.
func TestThePageOfCommandsIsTrue(t *testing.T) {
	p := &program{env: Environment{Getenv: func(string) string { return "" }, Program: "truce"}}
	root := p.root()
	var page strings.Builder
	page.WriteString(pageHead)
	for _, group := range root.Commands() {
		if group.Name() == "app" {
			for _, cmd := range group.Commands() {
				page.WriteString(section(t, cmd))
			}
		}
	}
	for _, part := range []struct {
		head     string
		commands []string
	}{{pageVerbs, fluxVerbs}, {pageMoves, []string{"adopt", "release"}}, {pageObjects, []string{"why", "blame"}}} {
		page.WriteString(part.head)
		for _, cmd := range root.Commands() {
			if slices.Contains(part.commands, cmd.Name()) {
				page.WriteString(section(t, cmd))
			}
		}
		if part.head == pageVerbs {
			page.WriteString(kustomizations(t, root))
		}
	}
	page.WriteString(pageNotify)
	for _, words := range [][]string{{"notify", "test"}, {"notify", "preview"}} {
		cmd, _, err := root.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		page.WriteString(section(t, cmd))
	}
	page.WriteString(pageFiles)
	for _, cmd := range root.Commands() {
		if slices.Contains([]string{"audit", "fix", "schema"}, cmd.Name()) {
			page.WriteString(section(t, cmd))
		}
	}
	text, err := os.ReadFile(commandsPage)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), page.String()); diff != "" {
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(commandsPage, []byte(page.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("%s is not what the program says; if the program is right, run `make golden` (-page +program):\n%s", commandsPage, diff)
	}
}

// fluxVerbs are the commands that flux has under the same names.
var fluxVerbs = []string{"get", "reconcile", "suspend", "resume", "export", "tree", "trace", "events", "build kustomization", "diff kustomization"}

func isFluxVerb(cmd *cobra.Command) bool {
	return slices.Contains(fluxVerbs, strings.TrimPrefix(cmd.CommandPath(), "truce "))
}

// isOfKubectl reports whether a flag is one of kubectl's.
func isOfKubectl(name string) bool {
	flags := &pflag.FlagSet{}
	kubectlFlags().AddFlags(flags)
	return flags.Lookup(name) != nil
}

// kustomizations are the commands of flux below those that take a path.
func kustomizations(t *testing.T, root *cobra.Command) string {
	t.Helper()
	out := ""
	for _, words := range [][]string{{"build", "kustomization"}, {"diff", "kustomization"}} {
		cmd, _, err := root.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		out += section(t, cmd)
	}
	return out
}

func section(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\n    %s\n", cmd.CommandPath(), strings.TrimSpace(cmd.Long), cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n\n%s\n", shifted(cmd.Example, "  "))
	}
	own := &pflag.FlagSet{}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && (!isFluxVerb(cmd) || !isOfKubectl(f.Name)) {
			own.AddFlag(f)
		}
	})
	if isFluxVerb(cmd) {
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !isOfKubectl(f.Name) {
				own.AddFlag(f)
			}
		})
	}
	if own.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n\n%s", shifted(strings.TrimRight(own.FlagUsages(), "\n"), "  ")+"\n")
	}
	for _, name := range shows[cmd.Name()] {
		if isFluxVerb(cmd) {
			break
		}
		story, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range story.Files {
			if f.Name == "want" {
				fmt.Fprintf(&b, "\nIt prints, in the story %s:\n\n%s\n", name, shifted(strings.TrimRight(string(f.Data), "\n"), "    "))
			}
		}
	}
	if cmd.Name() == "history" {
		var out bytes.Buffer
		f := &appFlags{program: &program{env: Environment{Out: &out, Err: &out}}}
		if err := f.printHistory(grokdevops, []dialect.HistoryEntry{
			{ID: 0, Revision: strings.Repeat("a", 40), At: epoch}, {ID: 1, Revision: strings.Repeat("b", 40), At: epoch, By: "argocd"},
		}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\nIt prints:\n\n%s\n", shifted(strings.TrimRight(out.String(), "\n"), "    "))
	}
	return b.String()
}

func shifted(text, by string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = by + line
		}
	}
	return strings.Join(lines, "\n")
}
