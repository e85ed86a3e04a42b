package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggestOnTypingErrors makes a program's groups and flags answer a typing error with what was probably meant.
func suggestOnTypingErrors(root *cobra.Command) {
	root.Args, root.RunE = cobra.ArbitraryArgs, groupOnly
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); isGroup(cmd) && len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return fmt.Errorf("%w%s", err, nearestFlag(cmd, err))
	})
}

// isGroup reports whether the first argument of a command is another command, and nothing else.
func isGroup(cmd *cobra.Command) bool {
	return cmd.HasSubCommands() && (cmd.Args == nil || !cmd.HasParent())
}

// groupOnly is run for a group of commands by itself, or with one that it has not.
func groupOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return cmd.Help()
}

// imageAutomation answers flux's commands about images.
const imageAutomation = "image automation (ImageRepository, ImagePolicy, ImageUpdateAutomation) is not part of truce: use flux for the custom resources of Flux's image controllers"

// answersOfRoot are to commands of flux and argocd that truce has not.
var answersOfRoot = map[string]string{
	"install": installation, "bootstrap": installation, // the nearest is uninstall
	"proj": "AppProjects are custom resources: kubectl get appprojects", "appset": "ApplicationSets are read by truce audit; their Applications are made by Argo CD's controller",
	"repo": ofSecrets, "repocreds": ofSecrets, "cluster": ofSecrets, "login": ofServer, "logout": ofServer, "account": ofServer, "context": ofServer,
}

// answersOfApp are to the commands of argocd app that truce has not.
var answersOfApp = map[string]string{
	"resources": "truce tree application NAME lists the objects of an app", "manifests": "truce build application NAME prints the objects that Git describes",
	"logs": ofObjects, "actions": ofObjects, "get-resource": ofObjects, "patch-resource": ofObjects, "delete-resource": ofObjects,
	"edit": ofSpec, "patch": ofSpec, "add-source": ofSpec, "remove-source": ofSpec,
	"confirm-deletion": "truce app approve-prune NAME shows the objects whose prune waits, and approves it; objects with Prune=confirm wait for the annotation " +
		"argocd.argoproj.io/deletion-approved of the Application, too, with the present time",
}

const (
	installation = "truce is installed with Helm, kustomize or a single file: docs/install.md; truce up starts one on this machine"
	ofSecrets    = "repositories and clusters are Secrets, as Argo CD keeps them: kubectl get secrets -l argocd.argoproj.io/secret-type"
	ofServer     = "truce has no server to log in to: its commands use your kubeconfig"
	ofObjects    = "use kubectl for the objects themselves; truce why says who wrote a field"
	ofSpec       = "use kubectl edit application NAME, or change it in Git where another app keeps it"
)

// answerOf is what truce says to a command of flux or argocd that it has not; empty for any other word.
func answerOf(group *cobra.Command, word string) string {
	switch {
	case !group.HasParent():
		return answersOfRoot[word]
	case word == "image" || word == "images":
		return imageAutomation
	case group.Name() == "app":
		return answersOfApp[word]
	}
	return ""
}

func unknownCommand(group *cobra.Command, word string) error {
	if answer := answerOf(group, word); answer != "" {
		return usageError("%s %s: %s", group.CommandPath(), word, answer)
	}
	see := "see " + group.CommandPath() + " --help"
	if meant := nearestCommands(group, word); len(meant) > 0 {
		see = "did you mean " + strings.Join(meant, " or ") + "?"
	}
	return usageError("%s has no command %q: %s", group.CommandPath(), word, see)
}

// nearestCommands are the commands of the group that a word may have meant; where there are none, those of the whole program.
func nearestCommands(group *cobra.Command, word string) []string {
	if near := nearCommands(group, word); len(near) > 0 {
		return near
	}
	var near []string
	for _, other := range append([]*cobra.Command{group.Root()}, group.Root().Commands()...) {
		if other != group && other.HasSubCommands() {
			near = append(near, nearCommands(other, word)...)
		}
	}
	return near
}

func nearCommands(group *cobra.Command, word string) []string {
	n := nearest{word: word}
	for _, cmd := range group.Commands() {
		if cmd.IsAvailableCommand() {
			n.offer(cmd.CommandPath(), append([]string{cmd.Name()}, cmd.Aliases...)...)
		}
	}
	return n.found
}

// nearestFlag suggests a flag for one that does not exist.
func nearestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	n := nearest{word: unknown.GetSpecifiedName()}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n.offer("--"+f.Name, f.Name)
		}
	})
	if len(n.found) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(n.found, " or ") + "?"
}

// nearest collects what a word may have meant: what has exactly that name, else what continues it, else what is two typing errors away.
type nearest struct {
	word  string
	found []string
	away  int // of those found
}

func (n *nearest) offer(what string, names ...string) {
	for _, name := range names {
		away, near := n.distance(name)
		switch {
		case !near, len(n.found) > 0 && away > n.away:
		case len(n.found) > 0 && away == n.away:
			if !slices.Contains(n.found, what) {
				n.found = append(n.found, what)
			}
		default:
			n.found, n.away = []string{what}, away
		}
	}
}

// distance is 0 for the same word, 1 for the beginning of the name, else one more than the number of typing errors.
func (n *nearest) distance(name string) (away int, near bool) {
	const most = 2
	word, name := strings.ToLower(n.word), strings.ToLower(name)
	if word == name {
		return 0, true
	}
	if len(word) > 1 && strings.HasPrefix(name, word) {
		return 1, true
	}
	errors := distance(word, name)
	return errors + 1, errors <= min(most, len(word)-2)
}

// distance is the number of letters to insert, drop, replace or swap with the next one (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
