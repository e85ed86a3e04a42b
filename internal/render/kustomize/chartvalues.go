package kustomize

import (
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/redact"
)

// The values of valuesMerge: those in place win over the file's, or the file's over them, or the file is not read. None means the first.
const (
	mergeOverride = "override"
	mergeMerge    = "merge"
	mergeReplace  = "replace"
)

// isMergeOption returns an error for a valuesMerge that Kustomize does not know.
func isMergeOption(option string) error {
	switch option {
	case "", mergeOverride, mergeMerge, mergeReplace:
		return nil
	}
	return fmt.Errorf("valuesMerge must be one of %s, %s and %s", mergeMerge, mergeOverride, mergeReplace)
}

// mergeInline lays a chart's values in place and those of its file over each other, with the functions of Kustomize.
func mergeInline(file string, c types.HelmChart) (string, error) {
	if err := isMergeOption(c.ValuesMerge); err != nil {
		return "", err
	}
	if c.ValuesMerge == mergeReplace {
		text, err := sigsyaml.Marshal(c.ValuesInline)
		return string(text), err
	}
	under, err := kyaml.FromMap(c.ValuesInline)
	if err != nil {
		return "", errors.New("valuesInline: " + redact.WithoutQuoted(err.Error()))
	}
	over, err := kyaml.Parse(file)
	if errors.Is(err, io.EOF) { // there is nothing in it
		over, err = kyaml.FromMap(map[string]any{})
	}
	if err != nil {
		return "", errors.New("values file: " + redact.WithoutQuoted(err.Error()))
	}
	if c.ValuesMerge != mergeMerge {
		under, over = over, under
	}
	merged, err := merge2.Merge(over, under, kyaml.MergeOptions{})
	if err != nil {
		return "", errors.New("merge valuesInline: " + redact.WithoutQuoted(err.Error()))
	}
	return merged.String()
}
