package argocd

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/report"
)

// Status returns the status of an Application after a run, or during one.
func (Applications) Status(cr object.Object, r report.Report) map[string]any {
	return statusOf(cr, r, whole)
}

// statusOf returns a status without the lists that are to be left out.
func statusOf(cr object.Object, r report.Report, without omission) map[string]any {
	var had applicationStatus
	reader.DecodeStatus(cr, &had)
	if r.Reason == report.Suspended && had.Sync.Status == "" {
		before, _ := cr["status"].(map[string]any)
		return before
	}
	if r.Reason == report.Suspended {
		return statusMap(cr, suspended(cr, r, had))
	}
	read := &reading{}
	var spec applicationSpec
	read.Fields("spec", cr["spec"], &spec)
	s := had
	if !r.Running || had.Sync.Status == "" {
		s.Sync = syncStatusOf(cr, r, had.Sync)
		s.Health = healthOf(r.State(), r, had.Health)
		s.Conditions = conditions(cr, r, had.Conditions)
	}
	if objectsKnown(r) {
		ran := slices.DeleteFunc(ranHooks(r, had.Resources), func(h resourceStatus) bool { // what is no hook any more is listed by itself
			return slices.ContainsFunc(r.Objects, func(o report.Object) bool { return o.ID == h.id() })
		})
		s.Resources = slices.Concat(resources(r, spec), skipped(r), ran, inherited(cr, r, had.Resources))
		s.Summary.Images = liveImages(r, ran)
		if s.SourceType = ""; !hasManySources(cr) {
			s.SourceType = sourceType(r, had.SourceType)
		}
	}
	s.OperationState = operationStateOf(cr, r, spec, had.OperationState)
	s.History = limited(history(cr, r, had, s.OperationState), spec)
	return withReconciledAt(cr, s.shortened(without, cr, r, had), had, r)
}

// suspended leaves the status as it is, as Argo CD does with its annotation skip-reconcile, except for what the objects say that this process
// watches: drift and health; and that a deletion waits.
func suspended(cr object.Object, r report.Report, had applicationStatus) applicationStatus {
	if cr.At("metadata", "deletionTimestamp") != nil {
		had.Conditions = withNotice(had.Conditions, r, "the deletion waits: nothing is deleted before the annotation "+skipKey+" is removed")
	}
	if len(r.Objects) == 0 {
		return had
	}
	s := r.State()
	had.Sync.Status, had.Health = string(s.Sync), healthOf(s, r, had.Health)
	return had
}

// AnsweredRequests names the operation that has ended, with its last try, and the wish to be looked at that a run has met. As in Argo CD the field operation
// stays until then: its clients look there for what is under way.
func (Applications) AnsweredRequests(cr object.Object, r report.Report) []field.Pointer {
	var out []field.Pointer
	if asked, ok := cr["operation"].(map[string]any); ok && tokenOf(asked) == r.Rollout.Order.Token && hasEnded(r.Rollout) {
		out = append(out, field.Pointer{"operation"})
	}
	if text, there := cr.Annotation(refreshKey); there && text == r.Request && !r.Running {
		out = append(out, field.Pointer{"metadata", "annotations", refreshKey})
	}
	return out
}

// hasEnded reports whether an operation has ended and is not tried again.
func hasEnded(o report.Rollout) bool {
	return !o.Ended.IsZero() && !o.IsTriedAgain()
}

// withReconciledAt sets reconciledAt, which is no reason by itself to write a status.
func withReconciledAt(cr object.Object, s, had applicationStatus, r report.Report) map[string]any {
	next := statusMap(cr, s)
	before, _ := cr["status"].(map[string]any)
	if r.Running || sameBut(before, next, "reconciledAt") && had.ReconciledAt != "" {
		return next
	}
	s.ReconciledAt = formatTime(observedAt(r))
	return statusMap(cr, s)
}

func sameBut(a, b map[string]any, key string) bool {
	without := func(m map[string]any) string {
		c := make(map[string]any, len(m))
		for k, v := range m {
			if k != key {
				c[k] = v
			}
		}
		text, err := json.Marshal(c)
		if err != nil {
			return "unreadable"
		}
		return string(text)
	}
	return without(a) == without(b)
}

// objectsKnown reports whether the run came so far that it knew the app's objects.
func objectsKnown(r report.Report) bool {
	return !r.Running && !comparisonFailed(r) || len(r.Objects) > 0
}

// comparisonFailed reports whether the run ended before it could compare anything: what Argo CD calls a comparison error.
func comparisonFailed(r report.Report) bool {
	switch r.Stage {
	case "", report.Admit, report.Fetch, report.Depend, report.Render, report.Normalize, report.Validate:
		return true
	default:
		return false
	}
}

func syncStatusOf(cr object.Object, r report.Report, had syncStatus) syncStatus {
	if o := r.Rollout; r.Reason == report.InProgress && o.Ended.IsZero() && len(o.Hooks) > 0 && len(r.Objects) > 0 {
		r.Reason = report.AwaitingHealth // a hook is waited for: the objects are known
	}
	s := syncStatus{Status: string(r.State().Sync)}
	s.Revision, s.Revisions = revisionsOf(cr, r.Revision)
	if s.Revision == "" && s.Revisions == nil {
		s.Revision, s.Revisions = had.Revision, had.Revisions
	}
	s.ComparedTo = &comparedTo{Destination: cr.At("spec", "destination"), IgnoreDifferences: cr.At("spec", "ignoreDifferences")}
	s.ComparedTo.Source, s.ComparedTo.Sources = sourcesOf(cr)
	if s.ComparedTo.Destination == nil {
		s.ComparedTo.Destination = map[string]any{}
	}
	return s
}

// hasManySources reports whether the Application lists its sources, one or several: its status has lists then, too.
func hasManySources(cr object.Object) bool {
	list, _ := cr.At("spec", "sources").([]any)
	return len(list) > 0
}

// revisionsOf are the commit of a revision, or those of several sources.
func revisionsOf(cr object.Object, revision string) (one string, many []string) {
	if !hasManySources(cr) {
		return commitOf(revision), nil
	}
	return "", commitsOf(revision)
}

// commitsOf are the commits of what several sources have together.
func commitsOf(revision string) []string {
	var out []string
	for _, each := range strings.Fields(revision) {
		out = append(out, commitOf(each))
	}
	return out
}

// commitOf is the commit of a revision such as main@sha1:0123, and the version of a chart's such as 1.2.3@sha256:0123.
func commitOf(revision string) string {
	if version, _, digest := strings.Cut(revision, "@sha256:"); digest && versionForm.MatchString(version) {
		return version
	}
	return revision[strings.LastIndexByte(revision, ':')+1:]
}

var versionForm = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+){0,2}([-+_].*)?$`)

func healthOf(state report.State, r report.Report, had healthStatus) healthStatus {
	h := state.Health
	s := healthStatus{Status: string(h.Code), Message: h.Message, LastTransitionTime: formatTime(observedAt(r))}
	if had.Status == s.Status && had.LastTransitionTime != "" {
		s.LastTransitionTime = had.LastTransitionTime
	}
	return s
}

// needsConfirmation reports whether a person has to confirm that an object is deleted. An option of the object's own counts instead of the Application's.
func needsConfirmation(c optout.Confirmation, spec applicationSpec) bool {
	if c.Asked || spec.SyncPolicy == nil {
		return c.Asked
	}
	options := spec.SyncPolicy.SyncOptions
	return !c.OwnPrune && slices.Contains(options, pruneConfirm) || !c.OwnDelete && slices.Contains(options, deleteConfirm)
}

func resources(r report.Report, spec applicationSpec) []resourceStatus {
	out := make([]resourceStatus, 0, len(r.Objects)+len(r.Leaving))
	for _, o := range r.Objects {
		h := o.HealthStatus()
		out = append(out, resourceStatus{
			Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name,
			Status: string(o.Sync()), Health: &healthStatus{Status: string(h.Code), Message: h.Message}, SyncWave: int64(o.Wave),
			RequiresDeletionConfirmation: needsConfirmation(o.Confirmation, spec),
		})
	}
	for _, o := range r.Leaving {
		out = append(out, resourceStatus{
			Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name,
			Status: string(report.OutOfSync), RequiresPruning: true, RequiresDeletionConfirmation: needsConfirmation(o.Confirmation, spec),
		})
	}
	for _, s := range r.Shared {
		if !s.Ours {
			out = append(out, resourceStatus{Group: s.ID.Group, Kind: s.ID.Kind, Namespace: s.ID.Namespace, Name: s.ID.Name, Status: string(report.OutOfSync)})
		}
	}
	return out
}

// liveImages are the images of the containers that the cluster has: those that Git names, but for what is missing there or has another image, and those of
// objects that were read. Where no run of this process has read what hooks have left, it is what the revision says of that.
func liveImages(r report.Report, ran []resourceStatus) []string {
	there := make(map[object.ID]report.Object, len(r.Objects))
	for _, o := range r.Objects {
		if o.UID != "" && o.HealthStatus().Code != health.Missing {
			there[o.ID] = o
		}
	}
	var out []string
	for _, i := range r.LiveImages {
		delete(there, i.ID)
		out = append(out, i.Image)
	}
	if r.Hooks == nil {
		for _, h := range ran {
			there[h.id()] = report.Object{ID: h.id()}
		}
	}
	for _, i := range r.Images {
		if o, ok := there[i.ID]; ok {
			if name := liveImage(o, i); name != "" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// liveImage is the image of a container in the cluster; empty where it has no such container.
func liveImage(o report.Object, i overlay.Container) string {
	for _, f := range o.Findings {
		rest, within := strings.CutPrefix(i.Field, field.PathString(f.Path))
		if within = within && len(f.Path) > 0 && (rest == "" || rest[0] == '.' || rest[0] == '['); !within {
			continue
		}
		if name, isText := f.Live.(string); isText || f.Live == nil {
			return name
		}
	}
	return i.Image
}

// inherited are the objects of Argo CD's list that the report does not name, of an adopted Application. Until truce has written its own record,
// which it does before it applies anything, that list alone says what Argo CD had made, and what there may be to prune.
func inherited(cr object.Object, r report.Report, had []resourceStatus) []resourceStatus {
	if how, _ := cr.Annotation(reader.AdoptedKey); how == "" || r.Recorded {
		return nil
	}
	named := map[object.ID]bool{}
	for _, o := range r.Objects {
		named[o.ID] = true
	}
	for _, o := range r.Leaving {
		named[o.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(had), func(o resourceStatus) bool {
		return o.Hook || named[o.id()]
	})
}

// formatTime is a time as Kubernetes writes it; empty for none.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func observedAt(r report.Report) time.Time {
	if r.Seen.IsZero() {
		return r.At
	}
	return r.Seen
}

// ownKeys are the fields of a status that this dialect writes.
var ownKeys = []string{"sync", "health", "resources", "conditions", "operationState", "history", "reconciledAt", "sourceType", "summary"}

// statusMap turns a status into decoded JSON, over what the custom resource bears and this dialect does not know.
func statusMap(cr object.Object, s applicationStatus) map[string]any {
	out := map[string]any{}
	before, _ := cr["status"].(map[string]any)
	for k, v := range before {
		if !slices.Contains(ownKeys, k) {
			out[k] = object.CloneValue(v)
		}
	}
	text, err := json.Marshal(s)
	if err != nil { // nothing in it is other than JSON
		return out
	}
	var own map[string]any
	if decodeNumbers(text, &own) != nil {
		return out
	}
	for k, v := range own {
		out[k] = v
	}
	return out
}
