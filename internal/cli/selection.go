package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/truce-gitops/truce/internal/view"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// The fields that every API server selects custom resources by.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
)

// selection is what -l and --field-selector ask for.
type selection struct{ labels, fields string }

func (s *selection) add(f *appFlags, cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVarP(&s.labels, "selector", "l", "", "only apps whose labels match, such as team=shop,tier!=test")
	flags.StringVar(&s.fields, "field-selector", "", "only apps whose fields match: "+fieldName+" and "+fieldNamespace+" by =, == and !=")
	f.complete(cmd, "field-selector", func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return f.completeField(cmd, args, begun)
	})
}

func (s selection) empty() bool { return s == selection{} }

// matches compiles the two selectors. What kubectl would let the server refuse is refused with the server's words.
func (s selection) matches() (func(view.Summary) bool, error) {
	byLabel, err := labels.Parse(s.labels)
	if err != nil {
		return nil, usageError("-l %s: %w", s.labels, err)
	}
	byField, err := fields.ParseSelector(s.fields)
	if err != nil {
		return nil, usageError("--field-selector %s: %w", s.fields, err)
	}
	for _, r := range byField.Requirements() {
		if r.Field != fieldName && r.Field != fieldNamespace {
			return nil, usageError("--field-selector %s: field label not supported: %s", s.fields, r.Field)
		}
	}
	return func(x view.Summary) bool {
		return byLabel.Matches(labels.Set(x.Labels)) && byField.Matches(fields.Set{fieldName: x.Key.Name, fieldNamespace: x.Key.Namespace})
	}, nil
}

// completeField completes the field, and then its value from the cluster.
func (f *appFlags) completeField(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	done := begun[:strings.LastIndex(begun, ",")+1]
	field, value, chosen := strings.Cut(begun[len(done):], "=")
	if !chosen {
		return filterPrefix([]string{done + fieldName + "=", done + fieldNamespace + "="}, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	of := f.completeApps
	if strings.TrimSuffix(field, "!") == fieldNamespace {
		of = f.completeNamespaces
	}
	names, directive := of(cmd, args, strings.TrimPrefix(value, "="))
	for i, name := range names {
		names[i] = strings.TrimSuffix(begun, strings.TrimPrefix(value, "=")) + name
	}
	return names, directive
}

func matching(all []view.Summary, match func(view.Summary) bool) []view.Summary {
	var out []view.Summary
	for _, s := range all {
		if match(s) {
			out = append(out, s)
		}
	}
	return out
}
