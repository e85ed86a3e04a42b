package discover

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
)

// AppliesServerSide reports whether an Application, or the object itself, asks Argo CD to apply the object on the server's side. An object may ask for
// the contrary.
func (u Unit) AppliesServerSide(o object.Object) bool {
	options, _ := u.Resource.At("spec", "syncPolicy", "syncOptions").([]any)
	text, _ := o.Annotation("argocd.argoproj.io/sync-options")
	own := optout.ListItems(text)
	if slices.Contains(own, "ServerSideApply=false") {
		return false
	}
	return slices.Contains(options, any("ServerSideApply=true")) || slices.Contains(own, "ServerSideApply=true")
}
