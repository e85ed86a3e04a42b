package cli

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/view/files"
)

// maskKey names the variable whose text makes the marks of Secrets' values comparable from one run to another.
const maskKey = "TRUCE_MASK_KEY"

// mask has the key of the environment, or else one of its own: without the key a value cannot be found by trying.
func (p *program) mask() (redact.Mask, error) {
	if key := p.env.Getenv(maskKey); key != "" {
		const least = 16
		if len(key) < least {
			return redact.Mask{}, usageError("%s is shorter than %d characters: a short key can be guessed, and with it values", maskKey, least)
		}
		return redact.Mask{Key: []byte(key)}, nil
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return redact.Mask{}, fmt.Errorf("make a key for masking: %w", err)
	}
	return redact.Mask{Key: key}, nil
}

// adhocFlags are those of the commands on files. Of appFlags they have the form of the output and its completion.
type adhocFlags struct {
	appFlags
	query   files.Query
	servers serverFlags
	claims  string
}

func (p *program) adhoc() *adhocFlags {
	f := &adhocFlags{appFlags: appFlags{program: p, config: kubectlFlags()}}
	f.query.In = p.env.In
	return f
}

func (f *adhocFlags) file(cmd *cobra.Command, what string) {
	cmd.Flags().StringVarP(&f.query.File, "filename", "f", "", what+"; - is the standard input")
}

// path takes the one argument or -f, and not both.
func (f *adhocFlags) path(args []string) error {
	switch {
	case len(args) > 1:
		return usageError("%d paths: name one", len(args))
	case len(args) == 0 && f.query.File == "":
		return usageError("name a directory, or a file with -f")
	case f.query.RemoteBases && f.query.File != "":
		return usageError("--remote-bases is about the kustomizations of a directory, not for -f")
	case len(args) == 1 && f.query.File != "":
		return usageError("PATH and -f exclude each other")
	case len(args) == 1 && args[0] == "":
		return usageError("PATH is empty")
	case len(args) == 1:
		f.query.Path = args[0]
	}
	var err error
	f.query.Servers, err = f.servers.policy()
	return err
}

// fetchedByBuilds is what --remote-bases fetches for every command that has it.
const fetchedByBuilds = "fetch the git repositories, single files and charts that kustomizations name by their addresses, and charts that charts depend on"

// remoteBases is the flag of all commands that build kustomizations. It is called as Kustomize and Flux call what it is about.
func remoteBases(cmd *cobra.Command, asked *bool) {
	cmd.Flags().BoolVar(asked, "remote-bases", false, fetchedByBuilds)
}

// remoteBasesAndCharts is the same flag of commands that look at all apps of a repository.
func remoteBasesAndCharts(cmd *cobra.Command, asked *bool) {
	cmd.Flags().BoolVar(asked, "remote-bases", false, fetchedByBuilds+", and the charts of HelmReleases and Applications")
}

// enableHelm is the flag of commands that build one kustomization. It is called as Kustomize calls it.
func enableHelm(cmd *cobra.Command, asked *bool) {
	cmd.Flags().BoolVar(asked, "enable-helm", false, "render the Helm charts that kustomizations name (helmCharts)")
}
