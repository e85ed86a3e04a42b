package argocd

import "encoding/json"

// The types are Argo CD's (pkg/apis/application/v1alpha1/types.go), as far as they are read. Fields that are here only in order to be
// refused hold whatever is written in them.

type applicationSpec struct {
	Source               *applicationSource  `json:"source,omitempty"`
	Sources              []applicationSource `json:"sources,omitempty"`
	SourceHydrator       json.RawMessage     `json:"sourceHydrator,omitempty"`
	Destination          destination         `json:"destination"`
	Project              string              `json:"project"`
	SyncPolicy           *syncPolicy         `json:"syncPolicy,omitempty"`
	IgnoreDifferences    []ignoreDifference  `json:"ignoreDifferences,omitempty"`
	Info                 []info              `json:"info,omitempty"`
	RevisionHistoryLimit *int64              `json:"revisionHistoryLimit,omitempty"`
}

type applicationSource struct {
	RepoURL        string           `json:"repoURL"`
	Path           string           `json:"path,omitempty"`
	TargetRevision string           `json:"targetRevision,omitempty"`
	Directory      *directorySource `json:"directory,omitempty"`
	Kustomize      *kustomizeSource `json:"kustomize,omitempty"`
	Name           string           `json:"name,omitempty"`

	Chart     string          `json:"chart,omitempty"`
	Ref       string          `json:"ref,omitempty"`
	TagPrefix string          `json:"tagPrefix,omitempty"`
	Helm      *helmSource     `json:"helm,omitempty"`
	Plugin    json.RawMessage `json:"plugin,omitempty"`
}

type directorySource struct {
	Recurse                bool          `json:"recurse,omitempty"`
	Include                string        `json:"include,omitempty"`
	Exclude                string        `json:"exclude,omitempty"`
	Jsonnet                jsonnetSource `json:"jsonnet,omitzero"`
	DisableExtensionFilter bool          `json:"disableExtensionFilter,omitempty"`
}

type destination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

type syncPolicy struct {
	Automated                *automated         `json:"automated,omitempty"`
	SyncOptions              []string           `json:"syncOptions,omitempty"`
	Retry                    *retry             `json:"retry,omitempty"`
	ManagedNamespaceMetadata *namespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

type automated struct {
	Prune      bool  `json:"prune,omitempty"`
	SelfHeal   bool  `json:"selfHeal,omitempty"`
	AllowEmpty bool  `json:"allowEmpty,omitempty"`
	Enabled    *bool `json:"enabled,omitempty"`
}

type retry struct {
	Limit   int64    `json:"limit,omitempty"`
	Backoff *backoff `json:"backoff,omitempty"`
	Refresh bool     `json:"refresh,omitempty"`
}

type backoff struct {
	Duration    string `json:"duration,omitempty"`
	Factor      *int64 `json:"factor,omitempty"`
	MaxDuration string `json:"maxDuration,omitempty"`
}

type namespaceMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ignoreDifference struct {
	Group                 string   `json:"group,omitempty"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name,omitempty"`
	Namespace             string   `json:"namespace,omitempty"`
	JSONPointers          []string `json:"jsonPointers,omitempty"`
	JQPathExpressions     []string `json:"jqPathExpressions,omitempty"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}

type info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// operation is what is requested, in the field of that name beside spec.
type operation struct {
	Sync        *syncOperation `json:"sync,omitempty"`
	InitiatedBy initiator      `json:"initiatedBy,omitempty"`
	Info        []info         `json:"info,omitempty"`
	Retry       *retry         `json:"retry,omitempty"`
}

type syncOperation struct {
	Revision              string              `json:"revision,omitempty"`
	Revisions             []string            `json:"revisions,omitempty"`
	Prune                 bool                `json:"prune,omitempty"`
	DryRun                bool                `json:"dryRun,omitempty"`
	SyncStrategy          *syncStrategy       `json:"syncStrategy,omitempty"`
	Resources             []operationResource `json:"resources,omitempty"`
	Source                *applicationSource  `json:"source,omitempty"`
	Sources               []applicationSource `json:"sources,omitempty"`
	Manifests             []string            `json:"manifests,omitempty"`
	SyncOptions           []string            `json:"syncOptions,omitempty"`
	AutoHealAttemptsCount int64               `json:"autoHealAttemptsCount,omitempty"`
	SelfHealAttemptsCount int64               `json:"selfHealAttemptsCount,omitempty"`
}

// syncStrategy is apply for a sync without hooks, or hook.
type syncStrategy struct {
	Apply *strategyOptions `json:"apply,omitempty"`
	Hook  *strategyOptions `json:"hook,omitempty"`
}

type strategyOptions struct {
	Force bool `json:"force,omitempty"`
}

type operationResource struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Exclude   bool   `json:"exclude,omitempty"`
}

type initiator struct {
	Username  string `json:"username,omitempty"`
	Automated bool   `json:"automated,omitempty"`
}
