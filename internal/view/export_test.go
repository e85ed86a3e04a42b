package view

import (
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// SummariesOf returns the summary of an app whose objects have the given health.
func SummariesOf(key app.Key, cr object.Object, objects map[object.ID]health.Status) []Summary {
	b := &summaryCache{apps: map[app.Key]object.Object{key: cr}, health: map[string]map[object.ID]assessed{desired.PartOfValue(key): {}}}
	for id, status := range objects {
		b.health[desired.PartOfValue(key)][id] = assessed{health.Reconciled: status, health.Serving: status}
	}
	return b.summaries()
}

// ReadyCondition returns the status and the message of the condition Ready.
func ReadyCondition(cr object.Object) (status, message string) {
	c := conditionOf(cr, "Ready")
	return c.status, c.message
}
