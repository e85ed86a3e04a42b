// Command kubectl answers: how does a person talk to the sandbox on a machine that has no kubectl?
//
// In: kubectl's arguments.
// Out: what upstream's kubectl does, of the version that the sandbox serves.
// Promise: each command is upstream's, with all of its flags.
// Not here: commands that need a kubelet, drain nodes, extend or complete kubectl itself: they would only be compiled.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apiresources"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/auth"
	"k8s.io/kubectl/pkg/cmd/autoscale"
	"k8s.io/kubectl/pkg/cmd/config"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/describe"
	"k8s.io/kubectl/pkg/cmd/diff"
	"k8s.io/kubectl/pkg/cmd/edit"
	"k8s.io/kubectl/pkg/cmd/events"
	"k8s.io/kubectl/pkg/cmd/explain"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/kustomize"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/options"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/replace"
	"k8s.io/kubectl/pkg/cmd/rollout"
	"k8s.io/kubectl/pkg/cmd/scale"
	"k8s.io/kubectl/pkg/cmd/set"
	"k8s.io/kubectl/pkg/cmd/top"
	"k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/version"
	"k8s.io/kubectl/pkg/cmd/wait"
	"k8s.io/kubectl/pkg/util/templates"
)

const name = "kubectl"

func main() {
	if err := cli.RunNoErrOutput(newCommand()); err != nil {
		util.CheckErr(err)
		os.Exit(1)
	}
}

// newCommand does what upstream's cmd.NewKubectlCommand does, with fewer commands.
func newCommand() *cobra.Command {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	warnings := rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true, Color: printers.AllowsColorOutput(streams.ErrOut)})
	strict := false
	root := &cobra.Command{
		Use:   name,
		Short: "kubectl controls the sandbox",
		Long: templates.LongDesc(`
      kubectl controls the sandbox. It is upstream's kubectl, of the version of
      the sandbox, without the commands that a simulated node refuses (logs, exec,
      port-forward and the like), drain, plugins and completion.`),
		Run: func(c *cobra.Command, _ []string) { _ = c.Help() },
		PersistentPostRunE: func(*cobra.Command, []string) error {
			if n := warnings.WarningCount(); strict && n > 0 {
				return fmt.Errorf("warnings received: %d", n)
			}
			return nil
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetGlobalNormalizationFunc(cliflag.WarnWordSepNormalizeFunc)
	flags := root.PersistentFlags()
	flags.BoolVar(&strict, "warnings-as-errors", strict, "Treat warnings received from the server as errors and exit with a non-zero exit code")
	connection := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams)
	connection.AddFlags(flags)
	matching := util.NewMatchVersionFlags(connection)
	matching.AddFlags(flags)
	sendName(root, connection, warnings)
	addCommands(root, util.NewFactory(matching), streams)
	root.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	return root
}

// sendName adds the command's name to each request, in headers as upstream does, and prints the server's warnings.
func sendName(root *cobra.Command, connection *genericclioptions.ConfigFlags, warnings rest.WarningHandler) {
	sent := &genericclioptions.CommandHeaderRoundTripper{}
	root.PersistentPreRun = func(c *cobra.Command, args []string) {
		rest.SetDefaultWarningHandler(warnings)
		sent.ParseCommandHeaders(c, args)
	}
	before := connection.WrapConfigFn
	connection.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		if before != nil {
			c = before(c)
		}
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return &genericclioptions.CommandHeaderRoundTripper{Delegate: next, Headers: sent.Headers}
		})
		return c
	})
}

func addCommands(root *cobra.Command, f util.Factory, streams genericiooptions.IOStreams) {
	groups := templates.CommandGroups{
		{Message: "Basic Commands:", Commands: []*cobra.Command{
			create.NewCmdCreate(f, streams), get.NewCmdGet(name, f, streams), describe.NewCmdDescribe(name, f, streams),
			edit.NewCmdEdit(f, streams), set.NewCmdSet(f, streams), delete.NewCmdDelete(f, streams), explain.NewCmdExplain(name, f, streams),
		}},
		{Message: "Deploy Commands:", Commands: []*cobra.Command{
			rollout.NewCmdRollout(name, f, streams), scale.NewCmdScale(f, streams), autoscale.NewCmdAutoscale(f, streams),
		}},
		{Message: "Troubleshooting Commands:", Commands: []*cobra.Command{
			top.NewCmdTop(f, streams), events.NewCmdEvents(f, streams), auth.NewCmdAuth(f, streams),
		}},
		{Message: "Advanced Commands:", Commands: []*cobra.Command{
			diff.NewCmdDiff(f, streams), apply.NewCmdApply(name, f, streams), patch.NewCmdPatch(f, streams), replace.NewCmdReplace(f, streams),
			wait.NewCmdWait(f, streams), kustomize.NewCmdKustomize(streams),
		}},
		{Message: "Settings Commands:", Commands: []*cobra.Command{label.NewCmdLabel(f, streams), annotate.NewCmdAnnotate(name, f, streams)}},
	}
	groups.Add(root)
	templates.ActsAsRootCommand(root, []string{"options"}, groups...)
	root.AddCommand(config.NewCmdConfig(f, clientcmd.NewDefaultPathOptions(), streams), version.NewCmdVersion(f, streams),
		apiresources.NewCmdAPIVersions(f, streams), apiresources.NewCmdAPIResources(f, streams), options.NewCmdOptions(streams.Out))
}
