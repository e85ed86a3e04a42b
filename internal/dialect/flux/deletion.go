package flux

import (
	"cmp"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// DeletionNews returns what kustomize-controller reports while it deletes the objects of a Kustomization: which were deleted, and
// that this has failed, or that it ends (report.InProgress) although some are still there.
func (Kustomizations) DeletionNews(cr object.Object, deleted []object.ID, end report.Reason) []notify.Event {
	var s kustomizev1.KustomizationStatus
	reader.DecodeStatus(cr, &s)
	reason := conditionOf(s.Conditions, meta.ReadyCondition).Reason
	event := func(severity notify.Severity, text string) notify.Event {
		return notify.Event{Severity: severity, Reason: cmp.Or(reason, string(severity)), Text: text, Revision: s.LastAppliedRevision}
	}
	var out []notify.Event
	if len(deleted) > 0 {
		lines := make([]string, len(deleted))
		for i, id := range deleted {
			lines[i] = subject(id) + " deleted"
		}
		out = append(out, event(notify.Info, strings.Join(lines, "\n")))
	}
	switch end {
	case report.InProgress:
		out = append(out, event(notify.Error, "failed to wait for resources termination"))
	case report.PruneFailed:
		out = append(out, event(notify.Error, "pruning for deleted resource failed"))
	default:
	}
	return out
}

// subject names an object as Flux does in its events.
func subject(id object.ID) string {
	if id.Namespace == "" {
		return id.Kind + "/" + id.Name
	}
	return id.Kind + "/" + id.Namespace + "/" + id.Name
}
