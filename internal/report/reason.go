package report

// Reason is one word for why a run ended as it did. Dialects translate it into their own.
type Reason string

// The reasons, all of them. A reason is never given another meaning.
const (
	Succeeded           Reason = "Succeeded"
	InProgress          Reason = "InProgress"
	AwaitingHealth      Reason = "AwaitingHealth" // applied, and waits for its objects to become healthy
	Suspended           Reason = "Suspended"
	SpecRefused         Reason = "SpecRefused"         // the app asks for what truce cannot do, or contradicts itself
	AccessDenied        Reason = "AccessDenied"        // a rule between tenants refuses the app
	SourceNotReady      Reason = "SourceNotReady"      // no artifact, or nothing in it where the app says
	DependencyNotReady  Reason = "DependencyNotReady"  // an app that it depends on is not ready
	RenderFailed        Reason = "RenderFailed"        // the files do not describe objects
	ValuesFailed        Reason = "ValuesFailed"        // the values of a chart could not be read
	ValidationFailed    Reason = "ValidationFailed"    // the server's schema refuses an object; nothing was applied
	ApplyFailed         Reason = "ApplyFailed"         // some objects could not be applied; the others were
	HookFailed          Reason = "HookFailed"          // a hook that follows the objects; they are as Git has them
	OperationTerminated Reason = "OperationTerminated" // a person has ended the operation
	OperationAbandoned  Reason = "OperationAbandoned"  // nothing goes on with the operation; of a rollout alone
	PruneFailed         Reason = "PruneFailed"
	PruneHeld           Reason = "PruneHeld"     // too much would go: a person must approve
	HealthFailed        Reason = "HealthFailed"  // applied, but not healthy in time
	Remediated          Reason = "Remediated"    // a Helm release has failed, and was rolled back or uninstalled
	RecordFailed        Reason = "RecordFailed"  // the inventory could not be written, so nothing was applied
	ClusterFailed       Reason = "ClusterFailed" // the API server does not answer
	OwnedByOther        Reason = "OwnedByOther"  // another app names the same object
)
