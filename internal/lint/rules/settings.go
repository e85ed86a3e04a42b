package rules

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
)

// shareSettings gives each Application what the settings of its Argo CD ignore: those of its namespace, and where one of the two namespaces is not known, each
// that the repository has. What cannot be read ignores nothing.
func shareSettings(s discover.Discovery) {
	of := map[string]ignore.Rules{} // by namespace
	for _, u := range s.Units {
		for _, o := range u.Objects {
			if o.GVK == (object.GVK{Version: "v1", Kind: "ConfigMap"}) {
				rules, _ := argocd.Projects{}.Ignored(o.Data)
				of[o.Data.Namespace()] = append(of[o.Data.Namespace()], rules...)
			}
		}
	}
	for i := range s.Units {
		u := &s.Units[i]
		if u.Dialect != discover.ArgoCD {
			continue
		}
		for namespace, rules := range of {
			if isNamespaceOpen(namespace) || isNamespaceOpen(u.App.Key.Namespace) || namespace == u.App.Key.Namespace {
				u.Shared = append(u.Shared, rules...)
			}
		}
		slices.SortStableFunc(u.Shared, func(a, b ignore.Rule) int { return strings.Compare(a.Name, b.Name) })
	}
}

// isNamespaceOpen reports whether a namespace may be given where the object is applied: what names none is taken to be in default.
func isNamespaceOpen(namespace string) bool { return namespace == "" || namespace == "default" }
