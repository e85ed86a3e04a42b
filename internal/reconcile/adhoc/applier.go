package adhoc

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// appliers are the field managers under which Git is applied on the server, the strongest evidence first: truce, Flux's
// kustomize-controller, Argo CD with ServerSideApply, kubectl apply --server-side.
var appliers = []string{ownership.Manager, "kustomize-controller", "argocd-controller", "kubectl"}

// Applier returns the manager that applies Git to the live object: a dry run under its name shows what would go away, too.
// It is truce where none does.
func Applier(owners []ownership.Entry) string {
	for _, name := range appliers {
		if slices.ContainsFunc(owners, func(o ownership.Entry) bool { return o.IsApply(name) }) {
			return name
		}
	}
	return ownership.Manager
}

func applied(owners []ownership.Entry) ownership.Shape {
	return ownership.ApplyEntry(owners, Applier(owners))
}

// marks are labels and annotations by which tools find what they have applied: Git does not name them, and they stay.
var marks = []string{
	"truce.dev/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "argocd.argoproj.io/", "kubectl.kubernetes.io/",
}

// DryRunBody is what a dry run sends for Git's object: with the marks that the applier has put on the live one, which an apply
// without them would take away.
func DryRunBody(git, live object.Object, owners []ownership.Entry) object.Object {
	out, shape := git.Clone(), applied(owners)
	for _, kind := range []string{"labels", "annotations"} {
		have, _ := live.At("metadata", kind).(map[string]any)
		for name, v := range have {
			p := field.NewPath("metadata", kind, name)
			if _, named := field.ValueAt(git, p); !named && isToolMark(name) && shape.Has(p) {
				field.SetValue(out, p, v)
			}
		}
	}
	return out
}

func isToolMark(name string) bool {
	return slices.ContainsFunc(marks, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
