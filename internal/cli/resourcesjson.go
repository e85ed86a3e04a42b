package cli

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// resourceJSON is one custom resource of `truce get`.
type resourceJSON struct {
	Metadata       metadataJSON      `json:"metadata"`
	Kind           string            `json:"kind"`
	Group          string            `json:"group"`
	Ready          string            `json:"ready"` // True, False or Unknown; empty for no status
	Reason         string            `json:"reason,omitempty"`
	Message        string            `json:"message,omitempty"`
	Revision       string            `json:"revision,omitempty"`
	Suspended      bool              `json:"suspended"`
	SuspendedBy    string            `json:"suspendedBy,omitempty"`   // the field manager that set the field
	SuspendedSince time.Time         `json:"suspendedSince,omitzero"` // of its last write
	Source         *keyJSON          `json:"source,omitempty"`
	Path           string            `json:"path,omitempty"`
	URL            string            `json:"url,omitempty"`
	Settled        bool              `json:"settled"` // the status is about the newest form, and no run goes on
	Conditions     map[string]string `json:"conditions,omitempty"`
}

func newResourceJSON(x resource.Resource) resourceJSON {
	out := resourceJSON{
		Metadata: newMetadataJSON(x.Key), Kind: x.Key.Kind, Group: x.Kind.Group, Ready: x.Ready, Reason: x.Reason, Message: x.Message, Revision: x.Revision,
		Suspended: x.Suspended, SuspendedBy: x.SuspendedBy, SuspendedSince: x.SuspendedSince, Path: x.Path, URL: x.URL, Settled: x.Settled, Conditions: x.Conditions,
	}
	out.Metadata.Labels = x.Labels
	out.Metadata.Created = x.Created
	if x.Source != (app.Key{}) {
		source := keyJSON(x.Source)
		out.Source = &source
	}
	return out
}
