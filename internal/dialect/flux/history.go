package flux

import (
	"maps"
	"strconv"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// The keys of the metadata of status.history. Flux's controllers do not write the id, by which truce app rollback names an entry.
const (
	pastID       = "id"
	pastRevision = "revision"
	pastOrigin   = "originRevision"
)

// historyEntries reads status.history, in which the newest is the first. Entries of Flux have no number: they are counted from the oldest.
func historyEntries(h meta.History) []dialect.HistoryEntry {
	var out []dialect.HistoryEntry
	for i := len(h) - 1; i >= 0; i-- {
		s := h[i]
		revision := s.Metadata[pastRevision]
		if s.LastReconciledStatus != meta.ReconciliationSucceededReason || revision == "" {
			continue
		}
		id, err := strconv.ParseInt(s.Metadata[pastID], 10, 64)
		if err != nil {
			id = int64(len(out))
		}
		out = append(out, dialect.HistoryEntry{ID: id, Revision: revision, At: s.FirstReconciled.Time})
	}
	return out
}

// pastReasons are Flux's words for how a run ended that came to apply something, where status.history lists it.
var pastReasons = map[report.Reason]string{
	report.Succeeded:     meta.ReconciliationSucceededReason,
	report.ApplyFailed:   meta.ReconciliationFailedReason,
	report.ClusterFailed: meta.ReconciliationFailedReason,
	report.RecordFailed:  meta.ReconciliationFailedReason,
	report.PruneFailed:   meta.PruneFailedReason,
	report.PruneHeld:     meta.PruneFailedReason,
	report.HealthFailed:  meta.HealthCheckFailedReason,
}

// mayHaveEnded reports whether a run that built a digest ended so since the newest run that built another one, or whether the history cannot say: it is empty, or
// begins with an entry of Flux, whose digests are others.
func mayHaveEnded(h meta.History, digest, reason string) bool {
	if last := h.Latest(); last == nil || last.Metadata[pastID] == "" {
		return true
	}
	for _, past := range h {
		if past.Digest != digest {
			return false
		}
		if past.LastReconciledStatus == reason {
			return true
		}
	}
	return false
}

// withHistory returns a status with what a run adds to its history: as in Flux one entry for each digest of what was built and way in which the run ended, the newest
// first, at most meta.HistoryMaxSize. A status that has no other news, such as another digest, stays as it is: the runs are counted when it is written next.
func withHistory(cr object.Object, s *kustomizev1.KustomizationStatus, r report.Report) map[string]any {
	now := statusMap(s)
	reason, is := pastReasons[r.Reason]
	last := s.History.Latest()
	isNews := last == nil || last.Digest != r.Runs.Digest
	if r.Running || !is || !r.Runs.Newest || !isNews && isSameBesideHistory(cr, now) {
		return now
	}
	end, took := r.Runs.Ended, r.Runs.Took
	if awaitsHealth(cr) && r.Seen.After(end) {
		end, took = r.Seen, r.Seen.Sub(r.At)
	}
	runs, alike := r.Runs.After(lastReconciled(s.History)), false
	if !isNews {
		alike = last.LastReconciledStatus == reason && last.Metadata[pastRevision] == r.Revision
	}
	if alike && runs == 0 {
		return now
	}
	s.History.Upsert(r.Runs.Digest, end.UTC(), took.Round(time.Millisecond), reason, pastMetadata(s.History, r, alike))
	s.History[0].TotalReconciliations += max(int64(runs), 1) - 1
	return statusMap(s)
}

func lastReconciled(h meta.History) time.Time {
	if last := h.Latest(); last != nil {
		return last.LastReconciled.Time
	}
	return time.Time{}
}

// isSameBesideHistory reports whether the custom resource has the status already, whatever its history says.
func isSameBesideHistory(cr object.Object, now map[string]any) bool {
	had, _ := cr.At("status").(map[string]any)
	had, now = maps.Clone(had), maps.Clone(now)
	delete(had, "history")
	delete(now, "history")
	return field.EqualValues(had, now)
}

// pastMetadata describes the newest run. Its id grows with each entry that becomes the newest.
func pastMetadata(had meta.History, r report.Report, alike bool) map[string]string {
	next := int64(0)
	for i, e := range historyEntries(had) {
		next = max(next, e.ID+1, int64(i)+1)
	}
	for _, past := range had {
		if id, err := strconv.ParseInt(past.Metadata[pastID], 10, 64); err == nil {
			next = max(next, id+1)
		}
	}
	id := strconv.FormatInt(next, 10)
	if alike && had[0].Metadata[pastID] != "" {
		id = had[0].Metadata[pastID]
	}
	out := map[string]string{pastRevision: r.Revision, pastID: id}
	if r.Origin != "" {
		out[pastOrigin] = r.Origin
	}
	return out
}
