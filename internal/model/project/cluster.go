package project

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Cluster is the cluster that a destination names, as a cluster Secret of Argo CD describes it. The zero value is one of which nothing is known.
type Cluster struct {
	Server, Name string
	Own          bool     // it is the cluster of the app's custom resource
	Project      string   // by which alone a project with OnlyOwnClusters may use it
	Namespaces   []string // that are managed; empty for all
	Global       bool     // where Namespaces are named, objects without a namespace are managed too
}

// RefusalOf says why an object is not managed in the cluster; empty where it is.
func (c Cluster) RefusalOf(id object.ID) string {
	switch {
	case len(c.Namespaces) == 0:
		return ""
	case id.Namespace == "" && !c.Global:
		return fmt.Sprintf("cluster %q manages no objects without a namespace (clusterResources of its Secret)", c.Name)
	case id.Namespace != "" && !slices.Contains(c.Namespaces, id.Namespace):
		return fmt.Sprintf("namespace %q is not managed in cluster %q (namespaces of its Secret)", id.Namespace, c.Name)
	}
	return ""
}

// isKnown reports whether it is known which cluster a destination names: until then patterns cannot say whether they match it.
func (d Destination) isKnown() bool { return d.Server != "" && d.Name != "" }
