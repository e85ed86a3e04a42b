package cluster

import "time"

// Target says which cluster is meant, and as whom. Empty fields are kubectl's defaults.
type Target struct {
	Kubeconfig, Context string
	// As is who is impersonated, with a UID and groups: kubectl's --as, --as-uid and --as-group.
	As, AsUID string
	AsGroups  []string
	// Timeout bounds each request; 0 does not.
	Timeout time.Duration
}
