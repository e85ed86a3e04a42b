package hook

// Status is the state of a stored release, in Helm's words.
type Status string

// The states of a stored release. A release is stored as pending before anything is done for it, and ends as deployed or failed:
//
//	pending-install, pending-upgrade, pending-rollback -> deployed | failed
//	deployed -> superseded, when a later one is deployed
//	either -> uninstalling -> uninstalled | deleted
const (
	Deployed        Status = "deployed"
	Superseded      Status = "superseded"
	FailedRelease   Status = "failed"
	PendingInstall  Status = "pending-install"
	PendingUpgrade  Status = "pending-upgrade"
	PendingRollback Status = "pending-rollback"
	Uninstalling    Status = "uninstalling"
	Uninstalled     Status = "uninstalled"
)

// IsPending reports whether an action was begun and has not ended.
func (s Status) IsPending() bool {
	return s == PendingInstall || s == PendingUpgrade || s == PendingRollback
}

// IsUnderWay reports whether an action was begun and has not ended, an uninstall among them.
func (s Status) IsUnderWay() bool { return s.IsPending() || s == Uninstalling }

// Stage is how far the action has come by which a release is pending, or uninstalled; of a failed one, whether it came to its objects.
type Stage string

// The stages of an action, in their order.
const (
	Before  Stage = ""        // the hooks that run before the objects
	Objects Stage = "objects" // the objects are applied or deleted, and waited for
	After   Stage = "after"   // the hooks that run after the objects
	// HooksFailed is of a failed release: a hook has failed before any of its objects was applied.
	HooksFailed Stage = "hooks failed"
)

// EventsOf are when the hooks of an action run; empty for an action that is none.
func EventsOf(s Status) (before, after Event) {
	switch s {
	case PendingInstall:
		return PreInstall, PostInstall
	case PendingUpgrade:
		return PreUpgrade, PostUpgrade
	case PendingRollback:
		return PreRollback, PostRollback
	case Uninstalling:
		return PreDelete, PostDelete
	default:
		return "", ""
	}
}
