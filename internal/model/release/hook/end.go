package hook

// End is an event at which hooks run when the app is deleted.
type End struct {
	Event Event
	// Finalizers are on the custom resource while the app has such hooks. The first of them asks for them to run, and is taken off to delete the app without.
	Finalizers []string
	// Asked says that the custom resource has the first of them.
	Asked bool
}
