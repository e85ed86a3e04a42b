package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/files"
)

// previewFlags adds the flags that flux has for Kustomizations. verb is build or diff.
func (f *appFlags) previewFlags(cmd *cobra.Command, verb string) {
	p, flags := &f.preview, cmd.Flags()
	var ignored []string
	flags.StringVar(&p.File, "kustomization-file", "", "file with the Kustomization, instead of the one in the cluster")
	flags.BoolVarP(&p.Members, "recursive", "r", false, "also the Kustomizations that this one describes, and those that they do")
	flags.StringToStringVar(&p.Sources, "local-sources", nil, "directories in the place of sources: KIND/NAMESPACE/NAME=DIR, with commas between")
	flags.StringSliceVar(&ignored, "ignore-paths", nil, "patterns, as in .sourceignore, of files below --path to leave out")
	flags.BoolVar(&p.Strict, "strict-substitute", false, "refuse variables without value and default; with a cluster always so")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p.Ignore = strings.Join(ignored, "\n")
		return run(cmd, args)
	}
	if verb == "diff" {
		flags.Bool("ignore-not-found", false, "taken, and always so with --kustomization-file")
		flags.Lookup("ignore-not-found").Hidden = true
		return
	}
	dry := false
	flags.BoolVar(&dry, "dry-run", false, "ask no cluster; with --path and --kustomization-file")
	connected := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !dry {
			return connected(cmd, args)
		}
		p.Ignore = strings.Join(ignored, "\n")
		return f.buildOffline(cmd.Context(), args)
	}
}

// checkPreview refuses what does not go together.
func checkPreview(p view.Preview) error {
	switch {
	case p.Dir != "" && p.Revision != "":
		return usageError("--path and --revision exclude each other")
	case p.Ignore != "" && p.Dir == "":
		return usageError("--ignore-paths are files below --path: name a directory with it")
	case len(p.Sources) > 0 && !p.Members:
		return usageError("--local-sources are those of Kustomizations that --recursive finds")
	}
	for _, key := range slices.Sorted(maps.Keys(p.Sources)) {
		if parts := strings.Split(key, "/"); len(parts) != 3 || slices.Contains(parts, "") || p.Sources[key] == "" {
			return usageError("--local-sources %s=%s: want KIND/NAMESPACE/NAME=DIR, such as GitRepository/flux-system/apps=../apps", key, p.Sources[key])
		}
	}
	return nil
}

// previewTargets are the targets of a command. An app whose custom resource is in a file need not be in the cluster.
func (f *appFlags) previewTargets(ctx context.Context, c *Cluster, args []string) ([]app.Key, error) {
	if f.preview.File == "" {
		return f.targets(ctx, c, args)
	}
	ns, err := f.namespace()
	if err != nil {
		return nil, err
	}
	key, err := f.givenKey(args[0], *f.config.Namespace)
	if key.Namespace == "" {
		key.Namespace = ns
	}
	return []app.Key{key}, err
}

// givenKey is the app of a file: in the namespace that the command names, and else in the file's.
func (f *appFlags) givenKey(arg, namespace string) (app.Key, error) {
	_, name, _ := strings.Cut(arg, "/")
	key := app.Key{Kind: registry.Kustomizations.Kind, Namespace: namespace, Name: name}
	given, err := f.preview.Given(registry.Kustomizations, key)
	if err == nil && namespace == "" {
		key.Namespace = given.Namespace()
	}
	return key, err
}

func (f *appFlags) buildOffline(ctx context.Context, args []string) error {
	p := f.preview
	if p.Dir == "" || p.File == "" || p.Revision != "" {
		return usageError("--dry-run asks no cluster: name the files with --path, and the Kustomization with --kustomization-file")
	}
	if err := checkPreview(p); err != nil {
		return err
	}
	key, err := f.givenKey(args[0], *f.config.Namespace)
	if err != nil {
		return err
	}
	mask, err := f.program.mask()
	if err != nil {
		return err
	}
	objects, notes, err := files.BuildApp(ctx, key, p, mask)
	for _, n := range notes {
		fmt.Fprintln(f.program.env.Err, "note: "+n)
	}
	if err != nil {
		return err
	}
	return f.printManifests(objects)
}
