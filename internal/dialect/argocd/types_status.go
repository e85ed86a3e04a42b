package argocd

import "github.com/truce-gitops/truce/internal/model/object"

// applicationStatus is Argo CD's form of how an Application stands. Operations and sources are kept as they were written: their
// unknown fields are kept.
type applicationStatus struct {
	runStatus
	Health       healthStatus     `json:"health"`
	Resources    []resourceStatus `json:"resources,omitempty"`
	ReconciledAt string           `json:"reconciledAt,omitempty"`
	SourceType   string           `json:"sourceType,omitempty"`
	Summary      summary          `json:"summary,omitempty"`
}

// runStatus is what a status says of runs and operations. An Application is read with it alone: of its objects there may be thousands.
type runStatus struct {
	Sync           syncStatus      `json:"sync"`
	Conditions     []condition     `json:"conditions,omitempty"`
	OperationState *operationState `json:"operationState,omitempty"`
	History        []historyEntry  `json:"history,omitempty"`
}

type syncStatus struct {
	Status     string      `json:"status"`
	Revision   string      `json:"revision,omitempty"`
	Revisions  []string    `json:"revisions,omitempty"`
	ComparedTo *comparedTo `json:"comparedTo,omitempty"`
}

type comparedTo struct {
	Source            any `json:"source,omitempty"`
	Sources           any `json:"sources,omitempty"`
	Destination       any `json:"destination"`
	IgnoreDifferences any `json:"ignoreDifferences,omitempty"`
}

type healthStatus struct {
	Status             string `json:"status,omitempty"`
	Message            string `json:"message,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
}

type resourceStatus struct {
	Group           string        `json:"group,omitempty"`
	Version         string        `json:"version,omitempty"`
	Kind            string        `json:"kind,omitempty"`
	Namespace       string        `json:"namespace,omitempty"`
	Name            string        `json:"name,omitempty"`
	Status          string        `json:"status,omitempty"`
	Health          *healthStatus `json:"health,omitempty"`
	Hook            bool          `json:"hook,omitempty"`
	RequiresPruning bool          `json:"requiresPruning,omitempty"`
	SyncWave        int64         `json:"syncWave,omitempty"`

	RequiresDeletionConfirmation bool `json:"requiresDeletionConfirmation,omitempty"`
}

func (r resourceStatus) id() object.ID {
	return object.ID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

type condition struct {
	Type               string `json:"type"`
	Message            string `json:"message"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
}

type operationState struct {
	Operation  map[string]any `json:"operation"`
	Phase      string         `json:"phase"`
	Message    string         `json:"message,omitempty"`
	SyncResult *syncResult    `json:"syncResult,omitempty"`
	StartedAt  string         `json:"startedAt"`
	FinishedAt string         `json:"finishedAt,omitempty"`
	RetryCount int64          `json:"retryCount,omitempty"`
}

type syncResult struct {
	Resources []resourceResult `json:"resources,omitempty"`
	Revision  string           `json:"revision"`
	Source    any              `json:"source,omitempty"`
	Revisions []string         `json:"revisions,omitempty"`
	Sources   any              `json:"sources,omitempty"`

	ManagedNamespaceMetadata any `json:"managedNamespaceMetadata,omitempty"`
}

type resourceResult struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status,omitempty"`
	Message   string `json:"message,omitempty"`
	HookType  string `json:"hookType,omitempty"`
	HookPhase string `json:"hookPhase,omitempty"`
	SyncPhase string `json:"syncPhase,omitempty"`
}

type historyEntry struct {
	ID              int64      `json:"id"`
	Revision        string     `json:"revision,omitempty"`
	Source          any        `json:"source,omitempty"`
	Revisions       []string   `json:"revisions,omitempty"`
	Sources         any        `json:"sources,omitempty"`
	DeployStartedAt string     `json:"deployStartedAt,omitempty"`
	DeployedAt      string     `json:"deployedAt"`
	InitiatedBy     *initiator `json:"initiatedBy,omitempty"`
}

type summary struct {
	Images []string `json:"images,omitempty"`
}
