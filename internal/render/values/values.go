// Package values answers: what do the ConfigMaps and Secrets hold that an app takes variables and decryption keys from?
//
// In: the app's namespace and references, and the cluster as one identity reads it.
// Out: the value of each variable, and the keys.
// Promise: what is not there is an error that names it, unless it is optional; each object that is named costs one GET.
// Not here: which value wins (model/variables), replacing variables (render/substitute), using keys (render/sops).
package values

import (
	"context"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
)

// ReadVariables returns nil where nothing is to be replaced.
func ReadVariables(ctx context.Context, reader live.Reader, namespace string, spec variables.Spec) (*variables.Set, error) {
	var versions []string
	set, err := variables.CollectSet(spec, func(ref variables.Reference) (map[string]string, error) {
		o, err := readReferenced(ctx, reader, namespace, ref)
		if err != nil || o == nil {
			return nil, err
		}
		if redact.IsSecret(o.ID()) {
			versions = append(versions, o.UID()+"/"+o.ResourceVersion())
		}
		return variables.TextValues(o)
	})
	if set != nil {
		set.SecretVersions = versions
	}
	return set, err
}

// ReadChartValues reads the values of a chart; a later reference wins over an earlier one.
func ReadChartValues(ctx context.Context, reader live.Reader, namespace string, from []release.Reference) ([]release.Values, error) {
	var out []release.Values
	read := map[object.ID]map[string]string{}
	for _, ref := range from {
		id := object.ID{Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
		if _, known := read[id]; !known {
			data, err := textsOf(ctx, reader, id)
			switch {
			case errors.Is(err, live.ErrNotFound) && ref.Optional:
				continue
			case err != nil:
				return nil, fmt.Errorf("could not resolve %s chart values reference '%s/%s' with key '%s': %w", ref.Kind, namespace, ref.Name, ref.Key, err)
			}
			read[id] = data
		}
		text, there := read[id][ref.Key]
		switch {
		case !there && ref.Optional:
			continue
		case !there:
			return nil, fmt.Errorf("could not resolve %s chart values reference '%s/%s' with key '%s': it has no such key", ref.Kind, namespace, ref.Name, ref.Key)
		}
		out = append(out, release.Values{
			Text: text, Path: ref.Path, Literal: ref.Literal, Secret: ref.Kind == "Secret", From: fmt.Sprintf("%s %s/%s key %s", ref.Kind, namespace, ref.Name, ref.Key),
		})
	}
	return out, nil
}

func textsOf(ctx context.Context, reader live.Reader, id object.ID) (map[string]string, error) {
	o, err := reader.Get(ctx, object.GVK{Version: "v1", Kind: id.Kind}, id)
	if err != nil {
		return nil, err
	}
	return variables.TextValues(o)
}

// SecretTexts are the texts in a chart's values that come from Secrets, for hiding them.
func SecretTexts(all []release.Values) []string {
	var out []string
	for _, v := range all {
		if !v.Secret {
			continue
		}
		var n yaml.Node
		if v.Path != "" || yaml.Unmarshal([]byte(v.Text), &n) != nil {
			out = append(out, v.Text)
			continue
		}
		out = append(out, scalarsIn(&n)...)
	}
	return out
}

// scalarsIn are the values below a node, without the keys of maps. What an alias stands for is below its anchor.
func scalarsIn(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			out = append(out, scalarsIn(c)...)
		}
	}
	return out
}

// readReferenced reads one ConfigMap or Secret; nil where it is optional and not there.
func readReferenced(ctx context.Context, reader live.Reader, namespace string, ref variables.Reference) (object.Object, error) {
	id := object.ID{Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
	o, err := reader.Get(ctx, object.GVK{Version: "v1", Kind: ref.Kind}, id)
	switch {
	case errors.Is(err, live.ErrNotFound) && ref.Presence == variables.Optional:
		return nil, nil
	case errors.Is(err, live.ErrNotFound):
		return nil, fmt.Errorf("substitute from '%s/%s' error: it is not in namespace %s: create it, or set optional: true in postBuild.substituteFrom", ref.Kind, ref.Name, namespace)
	case err != nil:
		return nil, fmt.Errorf("substitute from '%s/%s' error: %w", ref.Kind, ref.Name, err)
	}
	return o, nil
}
