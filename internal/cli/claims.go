package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/truce-gitops/truce/internal/decide/claim"
)

const longClaims = `List the known field owners: the catalogue of claims.

Each entry has the evidence by which a writer is recognised (an object that refers to another one, an
annotation, the name of a field manager), the fields that it writes, and what truce does about it:

  cede    truce stops applying the fields while the claim holds
  merge   the keys are in an atomic field: Git's are enforced, the writer's are kept
  allow   where Git does not name the fields they are no drift
  none    no claim: the writer is known, so that messages can name it

Entries of your own add to the built-in ones, or replace them by id: in a file (--claims-file, here
and for the controller), or in the ConfigMap truce-claims beside the controller. docs/claims.md has
the form.`

const exampleClaims = `  # all entries
  truce claims

  # what one of them says, and where that is known from
  truce claims --explain hpa

  # check a file of your own
  truce claims --claims-file mine.yaml -o wide

  # which claimants does this cluster have, and what do they claim?
  truce claims --live -A`

type claimsFlags struct {
	appFlags
	files   []string
	explain string
	live    bool
}

func (p *program) claims() *cobra.Command {
	empty := func() *string { s := ""; return &s }
	f := &claimsFlags{appFlags: appFlags{
		program: p, config: &genericclioptions.ConfigFlags{KubeConfig: empty(), Context: empty(), Namespace: empty()},
	}}
	cmd := &cobra.Command{
		Use: "claims", Short: "List the known field owners, and the claimants found in a cluster", Long: longClaims, Example: exampleClaims, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.explain, "explain", "", "print one entry whole, by its id")
	flags.StringArrayVar(&f.files, "claims-file", nil, "a file of entries that add to the built-in ones, or replace them by id; may be given more than once")
	flags.BoolVar(&f.live, "live", false, "print the claimants that the cluster has")
	f.config.AddFlags(flags)
	flags.BoolVarP(&f.everyNS, "all-namespaces", "A", false, "with --live: claimants of all namespaces")
	f.outputs(cmd, "json", "yaml", "wide", "name", "markdown")
	return cmd
}

func (f *claimsFlags) run(ctx context.Context) error {
	c, err := catalogue(f.files)
	if err != nil {
		return err
	}
	if f.live {
		return f.connected(ctx, func(cl *Cluster) error { return f.claimants(ctx, c, cl) })
	}
	if f.explain != "" {
		return f.explained(c)
	}
	return f.print(c.Entries())
}

// catalogue is the built-in one with the entries of files.
func catalogue(files []string) (*claim.Catalogue, error) {
	c := claim.Builtin()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usageError("--claims-file: %w", err)
		}
		if c, err = c.With(name, text); err != nil {
			return nil, usageError("--claims-file: %w", err)
		}
	}
	return c, nil
}

func (f *claimsFlags) explained(c *claim.Catalogue) error {
	e, ok := c.Entry(f.explain)
	if !ok {
		return usageError("--explain %q: no such entry; `truce claims` lists them", f.explain)
	}
	switch f.output {
	case "json", "yaml":
		return f.structured(newEntryJSON(e))
	}
	return printEntry(f.program.env.Out, f.program.term, e)
}

func (f *claimsFlags) print(all []claim.Entry) error {
	out := f.program.env.Out
	switch f.output {
	case "json", "yaml":
		items := make([]entryJSON, 0, len(all))
		for _, e := range all {
			items = append(items, newEntryJSON(e))
		}
		return f.structured(listJSON{APIVersion: schemaVersion, Kind: "ClaimEntryList", Items: items})
	case "name":
		for _, e := range all {
			if _, err := fmt.Fprintln(out, e.ID); err != nil {
				return err
			}
		}
		return nil
	case "markdown":
		return claimsPage(out, all)
	}
	return f.printTable(entryTable(all, f.output == "wide"))
}

// entryJSON is one entry in the structured forms: the catalogue's own, so that it can be copied into a file.
type entryJSON struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	claim.Entry
}

func newEntryJSON(e claim.Entry) entryJSON { return entryJSON{schemaVersion, "ClaimEntry", e} }

func entryTable(all []claim.Entry, wide bool) *table {
	t := &table{}
	head := plainCells("ID", "DO", "WHO", "ON", "PATHS")
	if wide {
		head = plainCells("ID", "DO", "WHO", "EVIDENCE", "ON", "PATHS", "FILE")
	}
	t.columns(head...)
	for _, e := range all {
		row := plainCells(e.ID, string(e.Do), e.Who)
		if wide {
			row = append(row, cell{text: strings.Join(evidenceWords(e), "; ")})
		}
		row = append(row, cell{text: firstOf(kindNames(e), wide)}, cell{text: firstOf(pathNames(e), wide)})
		if wide {
			row = append(row, cell{text: e.File})
		}
		t.add(row...)
	}
	return t
}

// firstOf is a list, of which only the first is shown where there is little room.
func firstOf(list []string, wide bool) string {
	if !wide && len(list) > 1 {
		return fmt.Sprintf("%s and %d more", list[0], len(list)-1)
	}
	return strings.Join(list, ", ")
}

func kindNames(e claim.Entry) (out []string) {
	for _, k := range e.On {
		out = append(out, k.String())
	}
	return out
}

func pathNames(e claim.Entry) (out []string) {
	for _, p := range e.Paths {
		out = append(out, p.String())
	}
	return out
}

// explain prints one entry for a person.
func printEntry(w io.Writer, term terminal, e claim.Entry) error {
	t := &table{}
	add := func(label string, values ...string) {
		for i, v := range values {
			if i > 0 {
				label = ""
			} else {
				label += ":"
			}
			t.add(cell{label, faint}, cell{text: v})
		}
	}
	add("ID", e.ID)
	add("Who", e.Who)
	add("Evidence", evidenceWords(e)...)
	add("On", strings.Join(kindNames(e), ", "))
	add("Fields", pathNames(e)...)
	add("Do", actionWords[e.Do])
	add("Values", countWords(e)...)
	if len(e.Over) > 0 {
		add("Goes over", strings.Join(e.Over, ", "))
	}
	add("Known from", e.Knowledge...)
	if e.File != "" {
		add("File", e.File)
	}
	if err := t.print(w, term); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", e.Text)
	return err
}

var actionWords = map[claim.Action]string{
	claim.Cede:  "cede: Git's values of the fields are not applied while the claim holds",
	claim.Merge: "merge: in an atomic field Git's keys are enforced, this one's are kept",
	claim.Allow: "allow: where Git does not name the fields they are no drift",
	claim.Known: "none: no right to the fields; the writer is known by name",
}

// evidenceWords lists each way to recognise the writer.
func evidenceWords(e claim.Entry) (out []string) {
	for _, ev := range e.Evidence {
		out = append(out, ev.String())
	}
	return out
}

// countWords says between which values a number is moved.
func countWords(e claim.Entry) []string {
	c := e.Count
	if c == nil {
		return nil
	}
	bound := func(p claim.Path, otherwise string) string {
		if p.String() == "" {
			return otherwise
		}
		return fmt.Sprintf("%s (else %s)", p, otherwise)
	}
	most := "no bound"
	if c.Most > 0 {
		most = fmt.Sprint(c.Most)
	}
	out := []string{"from " + bound(c.Min, fmt.Sprint(c.Least)) + " to " + bound(c.Max, most)}
	if c.Fixed.String() != "" {
		out = append(out, "exactly "+c.Fixed.String()+", where that is set")
	}
	if c.Zero == claim.Own {
		return append(out, "0 is a value of its own")
	}
	return append(out, "0, if the minimum is more, is a pause")
}

// entryHeadings are the headings of the entries, in the order of their first entries.
func entryHeadings(all []claim.Entry) (out []string) {
	for _, e := range all {
		if !slices.Contains(out, e.Family) {
			out = append(out, e.Family)
		}
	}
	return out
}
