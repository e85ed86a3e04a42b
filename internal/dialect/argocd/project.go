package argocd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/truce-gitops/truce/internal/model/glob"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

// Projects translates AppProject. Its zero value is ready.
type Projects struct{}

// projectSpec is that of Argo CD's AppProject, as far as it is read. Roles and the monitoring of orphaned resources bound no application.
type projectSpec struct {
	Description                     string                  `json:"description,omitempty"`
	SourceRepos                     []string                `json:"sourceRepos,omitempty"`
	SourceNamespaces                []string                `json:"sourceNamespaces,omitempty"`
	Destinations                    []projectDestination    `json:"destinations,omitempty"`
	ClusterResourceWhitelist        []projectKind           `json:"clusterResourceWhitelist,omitempty"`
	ClusterResourceBlacklist        []projectKind           `json:"clusterResourceBlacklist,omitempty"`
	NamespaceResourceWhitelist      *[]projectKind          `json:"namespaceResourceWhitelist,omitempty"`
	NamespaceResourceBlacklist      []projectKind           `json:"namespaceResourceBlacklist,omitempty"`
	SyncWindows                     []projectWindow         `json:"syncWindows,omitempty"`
	DestinationServiceAccounts      []projectServiceAccount `json:"destinationServiceAccounts,omitempty"`
	SignatureKeys                   json.RawMessage         `json:"signatureKeys,omitempty"`
	SourceIntegrity                 json.RawMessage         `json:"sourceIntegrity,omitempty"`
	Roles                           json.RawMessage         `json:"roles,omitempty"`
	OrphanedResources               json.RawMessage         `json:"orphanedResources,omitempty"`
	PermitOnlyProjectScopedClusters bool                    `json:"permitOnlyProjectScopedClusters,omitempty"`
}

type projectDestination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

type projectKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"`
}

type projectWindow struct {
	Kind         string   `json:"kind,omitempty"`
	Schedule     string   `json:"schedule,omitempty"`
	Duration     string   `json:"duration,omitempty"`
	Applications []string `json:"applications,omitempty"`
	Namespaces   []string `json:"namespaces,omitempty"`
	Clusters     []string `json:"clusters,omitempty"`
	ManualSync   bool     `json:"manualSync,omitempty"`
	TimeZone     string   `json:"timeZone,omitempty"`
	AndOperator  bool     `json:"andOperator,omitempty"`
	Description  string   `json:"description,omitempty"`
	SyncOverrun  bool     `json:"syncOverrun,omitempty"`
}

type projectServiceAccount struct {
	Server                string `json:"server"`
	Namespace             string `json:"namespace,omitempty"`
	DefaultServiceAccount string `json:"defaultServiceAccount"`
}

// Kind is that of the custom resources that Project reads.
func (Projects) Kind() object.GVK {
	return object.GVK{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject"}
}

// Project reads an AppProject.
func (Projects) Project(cr object.Object) project.Project {
	r := &reading{}
	var spec projectSpec
	if cr["spec"] != nil {
		r.Fields("spec", cr["spec"], &spec)
	}
	p := project.Project{
		Namespace: cr.Namespace(), Name: cr.Name(), Labels: cr.Labels(), Repositories: spec.SourceRepos, AppNamespaces: spec.SourceNamespaces,
		OnlyOwnClusters: spec.PermitOnlyProjectScopedClusters,
		Cluster:         project.Kinds{Allowed: kindsOf(spec.ClusterResourceWhitelist), Denied: kindsOf(spec.ClusterResourceBlacklist)},
	}
	for _, d := range spec.Destinations {
		p.Destinations = append(p.Destinations, project.Destination(d))
	}
	p.Namespaced = project.Kinds{AllowsAll: spec.NamespaceResourceWhitelist == nil, Denied: kindsOf(spec.NamespaceResourceBlacklist)}
	if allowed := spec.NamespaceResourceWhitelist; allowed != nil {
		p.Namespaced.Allowed = kindsOf(*allowed)
	}
	for i, a := range spec.DestinationServiceAccounts {
		p.Accounts = append(p.Accounts, r.account(fmt.Sprintf("spec.destinationServiceAccounts[%d]", i), a))
	}
	for i, w := range spec.SyncWindows {
		p.Windows = append(p.Windows, r.window(fmt.Sprintf("spec.syncWindows[%d]", i), w))
	}
	if isFieldSet(spec.SignatureKeys) && string(spec.SignatureKeys) != "[]" {
		r.Unsupported("spec.signatureKeys", "truce checks no signatures of the commits of Applications; leave these to Argo CD, or use a GitRepository with verify")
	}
	if isFieldSet(spec.SourceIntegrity) {
		r.Unsupported("spec.sourceIntegrity", "truce checks no signatures of the commits of Applications; leave these to Argo CD, or use a GitRepository with verify")
	}
	for _, problem := range r.Problems {
		p.Problems = append(p.Problems, problem.String())
	}
	return p
}

func kindsOf(all []projectKind) []project.Kind {
	var out []project.Kind
	for _, k := range all {
		out = append(out, project.Kind(k))
	}
	return out
}

// account reads as whom objects are written. An entry that cannot be read is a problem: the account that it leaves out has other rights than truce's own.
func (r *reading) account(at string, a projectServiceAccount) project.Account {
	namespace, name, both := strings.Cut(a.DefaultServiceAccount, ":")
	if !both {
		namespace, name = "", a.DefaultServiceAccount
	}
	if len(content.IsDNS1123Subdomain(name)) > 0 || both && len(content.IsDNS1123Label(namespace)) > 0 {
		r.Problem(at+".defaultServiceAccount", "want the name of a service account, or its namespace, a colon and its name, not %q", a.DefaultServiceAccount)
	}
	for _, of := range []struct{ field, pattern string }{{"server", a.Server}, {"namespace", a.Namespace}} {
		if _, err := glob.Compile(of.pattern, 0); err != nil {
			r.Problem(at+"."+of.field, "%v", err)
		}
	}
	return project.Account{Where: project.Destination{Server: a.Server, Namespace: a.Namespace}, Namespace: namespace, Name: name}
}

// window reads a sync window. One that cannot be read is a problem: what it should keep out is not known.
func (r *reading) window(at string, w projectWindow) project.Window {
	out := project.Window{
		Allows: w.Kind == "allow", Schedule: w.Schedule, Apps: w.Applications, Namespaces: w.Namespaces, Clusters: w.Clusters, Every: w.AndOperator, Manual: w.ManualSync,
	}
	if w.Kind != "allow" && w.Kind != "deny" {
		r.Problem(at+".kind", "want allow or deny, not %q", w.Kind)
	}
	var err error
	if out.Starts, err = project.ParseSchedule(w.Schedule); err != nil {
		r.Problem(at+".schedule", "%v", err)
	}
	if out.Duration, err = time.ParseDuration(w.Duration); err != nil || out.Duration <= 0 {
		r.Problem(at+".duration", "want a time such as 1h, not %q", w.Duration)
	}
	if out.Zone, err = time.LoadLocation(w.TimeZone); err != nil {
		r.Problem(at+".timeZone", "want the name of a time zone, such as Europe/Berlin, not %q", w.TimeZone)
	}
	return out
}

// memberOf is an Application as AppProjects judge it.
func memberOf(cr object.Object, spec applicationSpec) project.Member {
	m := project.Member{
		Project: spec.Project, Namespace: cr.Namespace(), Name: cr.Name(),
		Destination: project.Destination{Server: inClusterServer, Name: inCluster, Namespace: spec.Destination.Namespace},
	}
	if k := clusterOf(spec.Destination); k.IsSet() {
		m.Destination.Server, m.Destination.Name = k.ClusterServer, k.ClusterName
	}
	if m.Project == "" {
		m.Project = project.Default
	}
	for _, s := range spec.allSources() {
		m.Repositories = append(m.Repositories, s.RepoURL)
	}
	return m
}

// allSources are spec.sources, which go before spec.source, as in Argo CD.
func (s applicationSpec) allSources() []applicationSource {
	if len(s.Sources) > 0 || s.Source == nil {
		return s.Sources
	}
	return []applicationSource{*s.Source}
}
