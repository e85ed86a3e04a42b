package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/exit"
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
