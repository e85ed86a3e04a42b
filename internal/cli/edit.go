package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/view"
)

// writeFlags are those of all commands that change custom resources.
type writeFlags struct {
	force, dryRun bool
}

// edit carries out a change of one app, and says what it did.
func (f *appFlags) edit(ctx context.Context, c *Cluster, e view.Edit, done string) error {
	out, err := c.Edit(ctx, e)
	if err != nil {
		return err
	}
	if f.output != "" {
		if err := f.printResources(out); err != nil {
			return err
		}
	} else if err := f.printEdited(e, out, done); err != nil {
		return err
	}
	if e.How == view.Delete {
		return printMadeAgain(f.program.env.Err, out)
	}
	return printEdited(f.program.env.Err, out)
}

func (f *appFlags) printEdited(e view.Edit, out view.EditResult, done string) error {
	if e.How != view.Delete && reflect.DeepEqual(out.Before, out.After) {
		done = "unchanged"
	}
	if e.DryRun {
		done += " (dry run)"
	}
	_, err := fmt.Fprintf(f.program.env.Out, "%s %s\n", resourceName(e.App), done)
	return err
}

// printResources prints the custom resources as they are now, or would be.
func (f *appFlags) printResources(out view.EditResult) error {
	if f.output == "name" {
		for _, o := range out.After.All() {
			if _, err := fmt.Fprintf(f.program.env.Out, "%s/%s\n", strings.ToLower(o.GVK().Kind), o.Name()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range out.After.All() {
		if f.form.begun && f.output == "yaml" {
			fmt.Fprintln(f.program.env.Out, "---")
		}
		f.form.begun = true
		shown := o.Clone()
		delete(shown.Metadata(), "managedFields")
		if err := f.structured(shown); err != nil {
			return err
		}
	}
	return nil
}

// printEdited says what else there is to know: notes, and that the change will not last where an app keeps it as Git has it.
func printEdited(w io.Writer, e view.EditResult) error {
	for _, n := range e.Notes {
		if _, err := fmt.Fprintln(w, "note: "+redact.MaskText(n)); err != nil {
			return err
		}
	}
	if e.Parent.String() == "" || e.Before.App == nil {
		return nil
	}
	// The text stays as it is: it is meant for a file.
	text, err := resourcePatch(e)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s %s is itself managed from Git, by %s, which %s revert this.\nTo make it last, write it in Git%s:\n\n%s",
		e.After.App.GVK().Kind, e.After.App.Namespace()+"/"+e.After.App.Name(), e.Parent, describeParent(e), describePlaces(e), text)
	return err
}

// printMadeAgain says that an app was deleted which Git still describes, and who makes it again.
func printMadeAgain(w io.Writer, e view.EditResult) error {
	if e.Parent.String() == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s %s is itself managed from Git, by %s, which will make it again.\nTo be rid of it, take it out of Git%s.\n",
		e.After.App.GVK().Kind, e.After.App.Namespace()+"/"+e.After.App.Name(), e.Parent, describePlaces(e))
	return err
}

// describeParent distinguishes a parent that owns a changed field from one whose Git says nothing of it so far.
func describeParent(e view.EditResult) string {
	if e.Overruled {
		return "will"
	}
	return "may"
}

func describePlaces(e view.EditResult) string {
	if !e.Place.Known() {
		return ""
	}
	return ", at " + e.Place.String()
}

// resourcePatch is what the change adds to the custom resources, as YAML to write into their files.
func resourcePatch(e view.EditResult) (string, error) {
	var b strings.Builder
	before := map[string]object.Object{}
	for _, o := range e.Before.All() {
		before[o.GVK().Kind] = o
	}
	for _, o := range e.After.All() {
		old := before[o.GVK().Kind]
		set, gone := changed(gitContent(old), gitContent(o), nil)
		if !e.Overruled {
			gone = nil // Git does not name them: a person had set them
		}
		if set == nil && len(gone) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  # %s %s\n", o.GVK().Kind, o.Name())
		for _, path := range gone {
			fmt.Fprintf(&b, "  # delete %s\n", path)
		}
		if set == nil {
			continue
		}
		text, err := yaml.Marshal(set)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			b.WriteString("  " + line)
		}
	}
	return b.String(), nil
}

// gitContent is what Git can say of a custom resource: no status, no operation, no metadata but labels and annotations.
func gitContent(o object.Object) map[string]any {
	out := map[string]any{}
	if spec, ok := o["spec"]; ok {
		out["spec"] = spec
	}
	meta := map[string]any{}
	for _, key := range []string{"annotations", "labels", "finalizers"} {
		if v, ok := o.Metadata()[key]; ok {
			meta[key] = v
		}
	}
	if len(meta) > 0 {
		out["metadata"] = meta
	}
	return out
}

// changed returns the parts of a map that are new or other than before, and the paths of those that are gone.
func changed(before, after map[string]any, at []string) (set map[string]any, gone []string) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[key]; !there {
			gone = append(gone, strings.Join(append(slices.Clone(at), key), "."))
		}
	}
	set = map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		old, there := before[key]
		value := after[key]
		if there && reflect.DeepEqual(old, value) {
			continue
		}
		was, wasMap := old.(map[string]any)
		is, isMap := value.(map[string]any)
		if !isMap || !wasMap {
			set[key] = value
			continue
		}
		part, lost := changed(was, is, append(slices.Clone(at), key))
		gone = append(gone, lost...)
		if part != nil {
			set[key] = part
		}
	}
	if len(set) == 0 {
		return nil, gone
	}
	return set, gone
}
