package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
)

// argocdNamespace is where Applications are by default.
const argocdNamespace = "argocd"

// argocd reports whether truce was called as argocd: then it takes what is typed for that program, and answers as it does.
func (p *program) argocd() bool { return p.env.Program == "argocd" }

// dialect is that of apps that are made.
func (p *program) dialect() string {
	if p.argocd() {
		return "argocd"
	}
	return "flux"
}

func isApplication(k app.Key) bool { return k.Kind == dialects["argocd"] }

// matches returns what -l and --field-selector select, for argocd of Applications alone: what was written for Argo CD, such as
// `argocd app delete -l env=pr-42`, must not reach an app of Flux that has the same label.
func (f *appFlags) matches() (func(view.Summary) bool, error) {
	match, err := f.chosen.matches()
	if err != nil || !f.program.argocd() {
		return match, err
	}
	return func(s view.Summary) bool { return isApplication(s.Key) && match(s) }, nil
}

// noApps says that no app is selected.
func (f *appFlags) noApps(namespace string) error {
	if f.program.argocd() {
		return errNone("Applications", namespace)
	}
	return errNone("apps", namespace)
}

// resolveApplication finds the Application of a name. An app of Flux that has it is not meant: the error says how to name that.
func resolveApplication(name, namespace string, known []app.Key) (app.Key, error) {
	var applications []app.Key
	var others []string
	for _, k := range known {
		if isApplication(k) {
			applications = append(applications, k)
		} else if k.Name == name {
			others = append(others, resourceName(k))
		}
	}
	key, err := resolve(name, namespace, applications)
	switch {
	case !errors.As(err, new(absentError)):
		return key, err
	case len(others) > 0:
		slices.Sort(others)
		err = fmt.Errorf("%s: no Application has that name in %s; an app of Flux is named with its kind: %s", name, placeOfNamespace(namespace), strings.Join(slices.Compact(others), ", "))
	case len(applications) == 0:
		err = fmt.Errorf("%s: %w", name, errNone("Applications", namespace))
	default:
		return key, err
	}
	return app.Key{}, &exit.Error{Code: exit.Cluster, Err: absentError{err}}
}

// argocdConnectionFlags are argocd's global flags that say how to reach its API server. There is none here: commands speak to Kubernetes. The value
// is the one of a flag that needs none.
var argocdConnectionFlags = map[string]string{
	"core": "true", "grpc-web": "true", "insecure": "true", "plaintext": "true", "port-forward": "true", "prompts-enabled": "true",
	"server": "", "auth-token": "", "grpc-web-root-path": "", "port-forward-namespace": "", "client-crt": "", "client-crt-key": "",
	"server-crt": "", "config": "", "argocd-context": "", "header": "", "http-retry-max": "", "logformat": "", "loglevel": "",
	"controller-name": "", "redis-haproxy-name": "", "redis-name": "", "redis-compress": "", "repo-server-name": "", "server-name": "",
}

const argocdGenericError = 20 // util/errors of argo-cd: ErrorGeneric

// argocdFlags takes argocd's global flags.
func (f *appFlags) argocdFlags(root *cobra.Command) {
	s := root.PersistentFlags()
	for name, alone := range argocdConnectionFlags {
		short := ""
		if name == "header" {
			short = "H"
		}
		s.VarPF(&ignoredFlag{}, name, short, "taken, and without effect: there is no API server of Argo CD").NoOptDefVal = alone
		s.Lookup(name).Hidden = true
	}
	s.StringVar(f.config.Context, "kube-context", "", "the context of the kubeconfig")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		f.program.began = true
		f.program.noteIdle(cmd.Flags())
		return nil
	}
}

// ignoredFlag is a flag without effect. Its value is not kept: it may be a token.
type ignoredFlag struct{}

// String is empty: there is nothing to show.
func (*ignoredFlag) String() string { return "" }

// Set takes any value.
func (*ignoredFlag) Set(string) error { return nil }

// Type names the kind of value in a flag's help.
func (*ignoredFlag) Type() string { return "string" }

func (p *program) noteIdle(s *pflag.FlagSet) {
	var given []string
	s.Visit(func(f *pflag.Flag) {
		if _, ok := argocdConnectionFlags[f.Name]; ok {
			given = append(given, "--"+f.Name)
		}
	})
	if len(given) > 0 {
		fmt.Fprintf(p.env.Err, "note: %s without effect: truce speaks to Kubernetes, with your kubeconfig\n", strings.Join(given, ", "))
	}
}

// login is what runbooks do first.
func (p *program) login() []*cobra.Command {
	needless := func(use, short string) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Hidden: true,
			FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(p.env.Err, "nothing to do: truce speaks to Kubernetes, with your kubeconfig")
				return err
			},
		}
	}
	return []*cobra.Command{needless("login [SERVER]", "Needless here"), needless("logout", "Needless here"), needless("relogin", "Needless here")}
}

// defaultTimeout is how long commands wait that argocd has, too: that one waits for ever unless it is given a timeout.
func (p *program) defaultTimeout() timeoutValue {
	if p.argocd() {
		return 0
	}
	return timeoutValue(5 * time.Minute)
}

// nothingToDo is a command without any option that it could act on. argocd ends with 1 then.
func (p *program) nothingToDo(text string) error {
	if p.argocd() {
		return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s", text)}
	}
	return usageError("%s", text)
}

// code is an exit code under the name that truce was called by.
func (p *program) code(c exit.Code) exit.Code {
	if p.argocd() && (c == exit.Usage || c == exit.Cluster || c == exit.Render) {
		return argocdGenericError
	}
	return c
}
