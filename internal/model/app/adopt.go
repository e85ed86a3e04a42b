package app

import "github.com/truce-gitops/truce/internal/model/object"

// Inherits reports whether an adoption takes a live object of the other controller's into the app's record, to be pruned when Git no longer names it:
// it bears the other's mark for this app, and is none that only an operation makes. Argo CD lists its hooks among the resources (hook: true), and
// never prunes them.
func (a App) Inherits(live object.Object) bool {
	mine, _ := a.Adoption.OwnerOf(live)
	_, isHook := a.Aside.Of(live)
	return mine && !isHook
}
