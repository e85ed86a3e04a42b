package generate

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// mergeChartValues replaces the values.yaml of a HelmChart by its spec.valuesFiles, merged: so it is in the archive that Flux packages.
func (in *input) mergeChartValues(names []string) error {
	var files []tree.Entry
	for _, name := range names {
		e, err := in.files.At(name)
		if err != nil {
			return fmt.Errorf("values file: %w", err)
		}
		files = append(files, e)
	}
	made := texts{}
	e, err := made.merge(files...)
	if err != nil {
		return err
	}
	e.Path, e.In = path.Join(in.as, "values.yaml"), made
	at, there := slices.BinarySearchFunc(in.entries, e.Path, func(e tree.Entry, name string) int { return strings.Compare(e.Path, name) })
	if there {
		in.entries[at] = e
		return nil
	}
	in.entries = slices.Insert(in.entries, at, e)
	return nil
}

// given reads the file that is reported with an artifact, as JSON.
func (c *copying) given(f recipe.File) (string, error) {
	if f.Path == "" {
		return "", nil
	}
	name := path.Clean(f.Path)
	e, ok := c.files[name]
	if f.Alias != "" {
		in := c.inputs[f.Alias]
		at, found := slices.BinarySearchFunc(in.entries, name, func(e tree.Entry, name string) int { return strings.Compare(e.Path, name) })
		if ok = found; ok {
			var err error
			if e, err = in.content(in.entries[at]); err != nil {
				return "", err
			}
		}
	}
	if !ok {
		return "", fmt.Errorf("%s: %w", f.Path, errAbsent)
	}
	if e.Size > longestGift {
		return "", fmt.Errorf("%s has %d bytes, more than %d", f.Path, e.Size, longestGift)
	}
	out, err := c.texts.values(e)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Path, err)
	}
	text, err := json.Marshal(out)
	if err != nil { // such as a key that is no text
		return "", fmt.Errorf("%s: %w", f.Path, errNoMap)
	}
	return string(text), nil
}
