package editor

import (
	"time"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// SetAdoption moves an app's objects to truce, as was asked for at a time, or back; an empty way changes nothing.
func (e *Editor) SetAdoption(way policy.AdoptionMode, at time.Time) {
	if way != "" {
		e.Drop("metadata", "annotations", reader.AdoptedAtKey)
		e.Drop("metadata", "annotations", reader.LostKey)
	}
	switch way {
	case "":
	case policy.HandBack:
		e.Put(string(policy.Release), "metadata", "annotations", reader.ModeKey)
		e.Drop("metadata", "annotations", reader.AdoptedKey)
	default:
		e.Put(string(policy.Enforce), "metadata", "annotations", reader.ModeKey)
		e.Put(string(way), "metadata", "annotations", reader.AdoptedKey)
		if !at.IsZero() {
			e.Put(at.UTC().Format(time.RFC3339), "metadata", "annotations", reader.AdoptedAtKey)
		}
	}
}

// Approve approves the prune of a token; empty for none.
func (e *Editor) Approve(token string) {
	if token != "" {
		e.Put(token, "metadata", "annotations", reader.ApproveKey)
	}
}
