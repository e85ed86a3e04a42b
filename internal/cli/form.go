package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apijson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// form is how -o prints what there is as JSON: as such, or by one of kubectl's templates or columns over it, so that
// `-o jsonpath={.items[*].metadata.name}` means what it means there.
type form struct {
	templates *genericclioptions.KubeTemplatePrintFlags
	bare      bool // no first line with the columns' names
	one       bool // one name was given: its item is printed, not a list
	begun     bool // a document has been printed: the next one is another, also of the next app
	// print is nil for json and yaml. It is called once for each line of output of a watch.
	print func(io.Writer, map[string]any) error
}

// outputs adds -o with the forms that a command knows. One that has JSON has kubectl's templates and columns, too.
func (f *appFlags) outputs(cmd *cobra.Command, forms ...string) {
	known := forms
	if slices.Contains(forms, "json") {
		f.form.add(cmd)
		known = slices.Concat(forms, columnForms, f.form.templates.AllowedFormats())
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "form of the output: "+described(forms, known))
	f.complete(cmd, "output", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return completeForms(forms, known, begun)
	})
	checked := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if checked != nil {
			if err := checked(cmd, args); err != nil {
				return err
			}
		}
		return f.choose(forms, known)
	}
}

// add adds kubectl's flags for templates and columns. All commands share what they are set to: one of them runs.
func (f *form) add(cmd *cobra.Command) {
	if f.templates == nil {
		f.templates = genericclioptions.NewKubeTemplatePrintFlags()
	}
	f.templates.AddFlags(cmd)
	flags := cmd.Flags()
	flags.Lookup("template").Usage = "template, or the path of one, for -o go-template and go-template-file"
	flags.Lookup("allow-missing-template-keys").Usage = "take a field that is not there for empty in a template"
	flags.BoolVar(&f.bare, "no-headers", false, "no first line with the columns' names")
}

func described(forms, known []string) string {
	out := strings.Join(forms, ", ")
	if len(known) > len(forms) {
		out += "; or as kubectl's custom-columns=, jsonpath=, go-template= over the JSON form"
	}
	return out
}

// completeForms ends a form that goes on after "=" without a space.
func completeForms(forms, known []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	open := true
	for _, k := range known {
		closed := slices.Contains(forms, k)
		if !closed {
			k += "="
		}
		if strings.HasPrefix(k, begun) {
			out = append(out, k)
			open = open && !closed
		}
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if open {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return out, directive
}

// choose understands -o before anything is asked of the cluster. To the command a template is JSON, printed by structured.
func (f *appFlags) choose(forms, known []string) error {
	if f.output == "" && f.form.templates != nil && *f.form.templates.TemplateArgument != "" {
		f.output = "go-template"
	}
	if f.output == "" || slices.Contains(forms, f.output) {
		return nil
	}
	unknown := genericclioptions.NoCompatiblePrinterError{OutputFormat: &f.output, AllowedFormats: slices.Clone(known)}
	if f.form.templates == nil {
		return usageError("-o: %w", unknown)
	}
	var err error
	if f.form.print, err = f.form.printer(f.output); genericclioptions.IsNoCompatiblePrinterError(err) {
		err = unknown
	}
	if err != nil {
		return usageError("-o: %w", err)
	}
	f.output = "json"
	return nil
}

func (f form) printer(output string) (func(io.Writer, map[string]any) error, error) {
	if name, spec, _ := strings.Cut(output, "="); slices.Contains(columnForms, name) {
		c, err := newColumns(name, spec)
		if err != nil {
			return nil, err
		}
		c.bare = f.bare
		return c.print, nil
	}
	p, err := f.templates.ToPrinter(output)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer, v map[string]any) error { return p.PrintObj(&unstructured.Unstructured{Object: v}, w) }, nil
}

// structured prints a value in the form that -o names, of those that are made of JSON.
func (f *appFlags) structured(v any) error {
	out := f.program.env.Out
	if f.form.print == nil {
		return writeStructured(out, f.output, v)
	}
	plain, err := toPlainJSON(v)
	if err != nil {
		return err
	}
	return f.form.print(out, plain)
}

// eachStructured prints each item by itself, as kubectl does in a watch.
func eachStructured[T any](f *appFlags, items []T) error {
	for _, item := range items {
		if f.output == "yaml" {
			fmt.Fprintln(f.program.env.Out, "---")
		}
		if err := f.structured(item); err != nil {
			return err
		}
	}
	return nil
}

// printTable prints a table on the standard output, without its head for --no-headers.
func (f *appFlags) printTable(t *table) error {
	t.bare = f.form.bare
	return t.print(f.program.env.Out, f.program.term)
}

// oneOrList prints the item of one name as it is, and all else as a list, also of one item: a script that selects apps cannot know how many there are.
func oneOrList[T any](f *appFlags, kind string, items []T) error {
	if f.form.one && len(items) == 1 {
		return f.structured(items[0])
	}
	return f.structured(listJSON{APIVersion: schemaVersion, Kind: kind, Items: items})
}

// toPlainJSON is a value as its JSON says it, with whole numbers as such.
func toPlainJSON(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := apijson.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read %T again: %w", v, err)
	}
	return out, nil
}
