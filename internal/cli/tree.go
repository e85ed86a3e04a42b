package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/view/resource"
)

const longTree = `Print the objects of an app as its status lists them, and those of the apps among them. --compact leaves out what is no custom
resource of Flux or Argo CD. How the objects are doing: truce app get.

-o json and yaml print for each: group, kind, namespace, name, objects.

Exit codes: 0 printed, 2 usage, 3 the cluster cannot be reached or refuses, or has no such app.`

const exampleTree = `  truce tree kustomization flux-system
  truce tree ks flux-system --compact -n flux-system`

type treeFlags struct {
	*verb
	compact bool
}

func (p *program) tree() *cobra.Command {
	v := p.newVerb(&cobra.Command{Use: "tree", Short: "Print the objects of an app, and of the apps below it", Long: longTree, Example: exampleTree})
	f := &treeFlags{verb: v}
	for _, k := range resource.AllKinds() {
		if k.App {
			v.addKubectlWords(f, k)
			v.cmd.AddCommand(f.forKind(k))
		}
	}
	knowSwitches(v.cmd)
	return v.cmd
}

func (f *treeFlags) forKind(k resource.Kind) *cobra.Command {
	cmd := &cobra.Command{
		Use: k.Singular + " NAME", Aliases: kindAliases(k, k.Singular), Short: "Print the objects of " + k.Plural, Args: cobra.ExactArgs(1), ValidArgsFunction: f.completeNames(k),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error {
				found, err := f.namedResources(cmd.Context(), c, k, args)
				if err != nil {
					return err
				}
				top, err := c.Tree(cmd.Context(), found[0].Key)
				if err != nil {
					return err
				}
				return f.print(top)
			})
		},
	}
	cmd.Flags().BoolVar(&f.compact, "compact", false, "only custom resources of Flux and Argo CD")
	f.outputs(cmd, "json", "yaml")
	return cmd
}

// treeJSON is an object of `truce tree`.
type treeJSON struct {
	APIVersion string     `json:"apiVersion,omitempty"`
	Type       string     `json:"type,omitempty"` // Tree, at the top
	Group      string     `json:"group"`
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace,omitempty"`
	Name       string     `json:"name"`
	Objects    []treeJSON `json:"objects,omitempty"`
}

func newTreeJSON(n resource.Node) treeJSON {
	out := treeJSON{Group: n.ID.Group, Kind: n.ID.Kind, Namespace: n.ID.Namespace, Name: n.ID.Name}
	for _, child := range n.Children {
		out.Objects = append(out.Objects, newTreeJSON(child))
	}
	return out
}

func (f *treeFlags) print(top resource.Node) error {
	if f.compact {
		top = compacted(top)
	}
	if f.output != "" {
		out := newTreeJSON(top)
		out.APIVersion, out.Type = schemaVersion, "Tree"
		return f.structured(out)
	}
	marks := treeMarks{"├── ", "└── ", "│   ", "    "}
	if !f.program.unicode() {
		marks = treeMarks{"|-- ", "`-- ", "|   ", "    "}
	}
	if _, err := fmt.Fprintln(f.program.env.Out, nodeName(top)); err != nil {
		return err
	}
	return marks.print(f.program.env.Out, top, "")
}

// compacted is a tree without what is no custom resource of Flux or Argo CD.
func compacted(n resource.Node) resource.Node {
	out := resource.Node{ID: n.ID}
	for _, child := range n.Children {
		if child.IsCustomResource() {
			out.Children = append(out.Children, compacted(child))
		}
	}
	return out
}

func nodeName(n resource.Node) string { return n.ID.Kind + "/" + fullName(n.ID) }

// treeMarks draw a branch with others below it, the last one, and what stands under each of them.
type treeMarks struct{ branch, last, below, belowLast string }

func (m treeMarks) print(w io.Writer, n resource.Node, indent string) error {
	for i, child := range n.Children {
		mark, under := m.branch, m.below
		if i == len(n.Children)-1 {
			mark, under = m.last, m.belowLast
		}
		if _, err := fmt.Fprintln(w, indent+mark+nodeName(child)); err != nil {
			return err
		}
		if err := m.print(w, child, indent+under); err != nil {
			return err
		}
	}
	return nil
}
