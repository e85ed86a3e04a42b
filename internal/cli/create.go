package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view"
)

const longCreate = `Make an app: a GitRepository and a Kustomization (--dialect flux, the default), or an Application
(--dialect argocd, the default where truce is called argocd).

An app that is there already is changed only with --upsert. With -f the custom resources come from a file
("-" is the standard input), and the flags are laid over them. --label and --annotations are those of the
Kustomization or the Application.`

const exampleCreate = `  truce app create web --repo https://git.example/shop --path apps/web --revision main --dest-namespace shop
  truce app create web --dialect argocd --repo https://git.example/shop --path apps/web --sync-policy automated --self-heal --auto-prune
  truce app create -f app.yaml --upsert`

type createFlags struct {
	*appFlags
	changeFlags
	writeFlags
	dialect, file string
	upsert        bool
	// of the new custom resource, as KEY=VALUE; short are labels that were given by -l
	labels, short, annotations []string
}

// dialects are the custom resources that an app can be.
var dialects = map[string]string{"flux": "Kustomization", "argocd": "Application"}

func (f *appFlags) create() *cobra.Command {
	c := &createFlags{appFlags: f}
	cmd := &cobra.Command{
		Use: "create [NAME]", Short: "Create an app", Long: longCreate, Example: exampleCreate, Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return checkOneOf("--dialect", c.dialect, []string{"flux", "argocd"})
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.changeFlags.add(cmd, f)
	c.writeFlags.add(cmd)
	s := cmd.Flags()
	s.StringVar(&c.dialect, "dialect", f.program.dialect(), "flux or argocd")
	s.StringVarP(&c.file, "file", "f", "", "custom resources, as YAML or JSON")
	s.StringArrayVar(&c.labels, "label", nil, "label of the new app, as KEY=VALUE; also -l (repeatable)")
	s.StringArrayVar(&c.annotations, "annotations", nil, "annotation of the new app, as KEY=VALUE (repeatable)")
	s.StringArrayVarP(&c.short, "selector", "l", nil, "the same as --label") // hides the group's -l, which selects apps
	s.Lookup("selector").Hidden = true
	s.BoolVar(&c.upsert, "upsert", false, "change the app if it is there already")
	f.complete(cmd, "dialect", completeFrom("flux", "argocd"))
	f.outputs(cmd, "json", "yaml", "name")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func (c *createFlags) run(ctx context.Context, args []string) error {
	change, err := c.change()
	if err != nil {
		return err
	}
	if c.chosen.fields != "" {
		return usageError("--field-selector selects apps: a new one has a name and -n")
	}
	e := view.Edit{How: view.Create, Change: change, Force: c.force, DryRun: c.dryRun}
	if c.upsert {
		e.How = view.Upsert
	}
	if e.Labels, err = parseKeyValues("--label", slices.Concat(c.labels, c.short)); err != nil {
		return err
	}
	if e.Annotations, err = parseKeyValues("--annotations", c.annotations); err != nil {
		return err
	}
	if c.file != "" {
		if e.Given, err = c.given(); err != nil {
			return err
		}
	}
	if e.App, err = c.key(args, e.Given); err != nil {
		return err
	}
	return c.connected(ctx, func(cl *Cluster) error { return c.edit(ctx, cl, e, "created") })
}

// key is what the new app is called: by the argument, and by the file.
func (c *createFlags) key(args []string, given dialect.Resources) (app.Key, error) {
	ns, err := c.namespace()
	if err != nil {
		return app.Key{}, err
	}
	if c.everyNS {
		return app.Key{}, usageError("an app is in one namespace: -n, not -A")
	}
	if ns == "" {
		ns = argocdNamespace
	}
	key := app.Key{Kind: dialects[c.dialect], Namespace: ns}
	if given.App != nil {
		key = app.Key{Kind: given.App.GVK().Kind, Namespace: given.App.Namespace(), Name: given.App.Name()}
		if key.Namespace == "" {
			key.Namespace = ns
		}
	}
	if len(args) == 0 && key.Name == "" {
		return key, usageError("give the new app a name")
	}
	if len(args) > 0 && key.Name != "" && args[0] != key.Name {
		return key, usageError("the file is about %s, not %s", key.Name, args[0])
	}
	if len(args) > 0 {
		key.Name = args[0]
	}
	if at := strings.LastIndexByte(key.Name, '/'); at >= 0 {
		key.Namespace, key.Name = key.Name[:at], key.Name[at+1:]
	}
	return key, nil
}

// given reads -f: one app, and its source where it has one of its own.
func (c *createFlags) given() (dialect.Resources, error) {
	in := io.Reader(c.program.env.In)
	if c.file != "-" {
		f, err := os.Open(c.file)
		if err != nil {
			return dialect.Resources{}, usageError("%v", err)
		}
		defer f.Close()
		in = f
	}
	out, err := readResources(in)
	if err != nil {
		return out, usageError("read %s: %v", c.file, err)
	}
	return out, nil
}

const longestFile = 4 << 20

func readResources(in io.Reader) (dialect.Resources, error) {
	var out dialect.Resources
	docs := yamlutil.NewYAMLOrJSONDecoder(io.LimitReader(in, longestFile), 4096)
	for {
		var o object.Object
		err := docs.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		switch kind := o.GVK().Kind; {
		case o == nil:
		case kind == "GitRepository" && out.Source == nil:
			out.Source = o
		case (kind == "Kustomization" || kind == "Application") && out.App == nil:
			out.App = o
		case kind == "Kustomization" || kind == "Application" || kind == "GitRepository":
			return out, fmt.Errorf("more than one %s: one app at a time", kind)
		default:
			return out, fmt.Errorf("%q is no app: want a Kustomization, an Application, and the GitRepository of the former", kind)
		}
	}
	if out.App == nil {
		return out, errors.New("it holds no Kustomization and no Application")
	}
	return out, nil
}
