package argocd

import (
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// Summarize reads an Application's status back.
func (Commands) Summarize(cr object.Object) dialect.Summary {
	var s applicationStatus
	reader.DecodeStatus(cr, &s)
	end := lastRunEnd(s)
	t := dialect.Summary{
		StatusWriter: reader.StatusWriter(cr, "reconciledAt"), State: stateOf(s, end), End: end, Message: end.Message,
		Revision: lastSyncedRevision(s), HandledRequest: handledRequest(s), Finished: hasSettled(cr, s), History: historyEntries(s.History),
	}
	a := (Applications{}).App(cr, policy.Policy{})
	if a.Suspended {
		t.State = t.State.Suspend()
	}
	if t.Lost = a.Adoption.Lost; t.Lost != "" {
		t.StatusWriter = reader.ControllerOf(a.Adoption.Manager)
	}
	results := resultsOf(s)
	for _, r := range s.Resources {
		if r.Hook || r.Status == "" && r.Health == nil { // or never applied
			continue
		}
		o := dialect.ListedObject{ID: object.ID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, Version: r.Version, Sync: report.Sync(r.Status)}
		if r.Health != nil {
			o.Health = health.Code(r.Health.Status)
		}
		o.Message = results[o.ID]
		t.Objects = append(t.Objects, o)
	}
	for _, c := range s.Conditions {
		switch {
		case c.Type == fieldsContested:
			t.Contested = c.Message
		case c.Type == fieldsCeded && decide.HasNotApplied(c.Message):
			t.Ceded = c.Message
		}
		t.Conditions = append(t.Conditions, dialect.Condition{Type: c.Type, Message: c.Message, Since: parseTime(c.LastTransitionTime)})
	}
	t.Hooks = hookOutcomes(s)
	t.Lines, t.Target = summaryLines(cr)
	return t
}

// stateOf reads the state back. The status holds its words; the rest follows from how the newest run ended.
func stateOf(s applicationStatus, end report.End) report.State {
	if s.Sync.Status == "" {
		return report.End{}.State(report.Unknown, health.Status{})
	}
	worst := health.Status{Code: health.Code(s.Health.Status), Message: s.Health.Message}
	is := end.State(report.Synced, worst)
	is.Sync, is.Health = report.Unknown, worst
	if sync := report.Sync(s.Sync.Status); sync == report.Synced || sync == report.OutOfSync {
		is.Sync = sync
	}
	if is.Health.Code == "" {
		is.Health = health.Status{Code: health.Unknown, Message: "the status does not say"}
	}
	if is.Message == "" && is.Sync != report.Synced {
		is.Message = driftMessage(s)
	}
	return is
}

// driftMessage is what the conditions say of fields that differ from Git, and of an object that may be missing.
func driftMessage(s applicationStatus) string {
	var out []string
	for _, c := range s.Conditions {
		if c.Type == fieldsDrifted || c.Type == fieldsContested || c.Type == maybeMissing {
			out = append(out, c.Message)
		}
	}
	return strings.Join(out, "; ")
}

// resultsOf is what the newest sync made of each object.
func resultsOf(s applicationStatus) map[object.ID]string {
	out := map[object.ID]string{}
	if s.OperationState == nil || s.OperationState.SyncResult == nil {
		return out
	}
	for _, r := range s.OperationState.SyncResult.Resources {
		out[object.ID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}] = r.Message
	}
	return out
}

func parseTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{} // unknown
	}
	return at
}

// lastSyncedRevision is the revision of the newest sync that went through.
func lastSyncedRevision(s applicationStatus) string {
	if n := len(s.History); n > 0 {
		return oneText(s.History[n-1].Revision, s.History[n-1].Revisions)
	}
	if o := s.OperationState; o != nil && o.SyncResult != nil && o.Phase == phaseSucceeded {
		return oneText(o.SyncResult.Revision, o.SyncResult.Revisions)
	}
	return ""
}

// oneText is a revision, or those of several sources with spaces between.
func oneText(one string, many []string) string {
	if len(many) > 0 {
		return strings.Join(many, " ")
	}
	return one
}

// handledRequest is the request that the newest finished operation was about.
func handledRequest(s applicationStatus) string {
	if s.OperationState == nil || s.OperationState.isUnderWay() {
		return ""
	}
	list, _ := s.OperationState.Operation["info"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		if m["name"] == requestInfo {
			token, _ := m["value"].(string)
			return token
		}
	}
	return ""
}

// hasSettled reports whether the status is about what the Application says now: what it was compared to is kept in it.
func hasSettled(cr object.Object, s applicationStatus) bool {
	if a := (Applications{}).App(cr, policy.Policy{}); a.Suspended {
		return true
	}
	_, refresh := cr.Annotation(refreshKey)
	if cr["operation"] != nil || refresh || s.OperationState.isUnderWay() {
		return false
	}
	if len(s.Conditions) > 0 && s.Sync.Status == string(report.Unknown) {
		return true // it could not be compared, and says why
	}
	if s.Sync.ComparedTo == nil {
		return false
	}
	return isComparedTo(cr, *s.Sync.ComparedTo)
}

// isComparedTo reports whether a comparison was with what the Application says now.
func isComparedTo(cr object.Object, with comparedTo) bool {
	was := map[string]any{"destination": with.Destination, "ignoreDifferences": with.IgnoreDifferences, "source": with.Source}
	if hasManySources(cr) {
		delete(was, "source")
		was["sources"] = with.Sources
	}
	for key, was := range was {
		if is := cr.At("spec", key); (isFieldSet(is) || isFieldSet(was)) && editor.CompactJSON(is) != editor.CompactJSON(was) {
			return false
		}
	}
	return true
}

// lastRunEnd is how the newest run ended, as far as commands distinguish them.
func lastRunEnd(s applicationStatus) report.End {
	for _, c := range s.Conditions {
		switch c.Type {
		case invalidSpec:
			return report.End{Reason: report.SpecRefused, Message: c.Message}
		case comparison:
			return report.End{Reason: report.RenderFailed, Message: c.Message}
		}
	}
	o := s.OperationState
	switch {
	case o.isUnderWay():
		return report.End{Reason: report.InProgress, Message: o.Message}
	case o != nil && o.Phase != phaseSucceeded:
		return report.End{Reason: report.ApplyFailed, Message: o.Message}
	case failedSync(s) != "":
		return report.End{Reason: report.ApplyFailed, Message: failedSync(s)}
	case s.Sync.Status == "":
		return report.End{Reason: report.InProgress}
	case o != nil:
		return report.End{Reason: report.Succeeded, Message: o.Message}
	}
	return report.End{Reason: report.Succeeded}
}

// failedSync is why a run failed that was no operation.
func failedSync(s applicationStatus) string {
	for _, c := range s.Conditions {
		if c.Type == syncError || c.Type == deletionError {
			return c.Message
		}
	}
	return ""
}

func historyEntries(list []historyEntry) []dialect.HistoryEntry {
	var out []dialect.HistoryEntry
	for _, h := range list {
		p := dialect.HistoryEntry{ID: h.ID, Revision: oneText(h.Revision, h.Revisions), At: parseTime(h.DeployedAt)}
		p.Source = strings.Join(addressesOf(h), " ")
		if h.InitiatedBy != nil {
			p.By = h.InitiatedBy.Username
		}
		out = append(out, p)
	}
	return out
}

func addressesOf(h historyEntry) []string {
	list, ok := h.Sources.([]any)
	if !ok {
		list = []any{h.Source}
	}
	var out []string
	for _, v := range list {
		source, _ := v.(map[string]any)
		if address, _ := source["repoURL"].(string); address != "" {
			out = append(out, address)
		}
	}
	return out
}

// summaryLines is what argocd prints of an Application's spec (printAppSummaryTable of argo-cd), and the revision that it follows.
func summaryLines(cr object.Object) (lines []dialect.SummaryLine, target string) {
	spec, _ := cr["spec"].(map[string]any)
	text := func(keys ...string) string { s, _ := object.Object(spec).At(keys...).(string); return s }
	add := func(label, text string) { lines = append(lines, dialect.SummaryLine{Label: label, Text: text}) }
	project, server := text("project"), text("destination", "server")
	if project == "" {
		project = "default"
	}
	if server == "" {
		server = text("destination", "name")
	}
	add("Project", project)
	add("Server", server)
	add("Namespace", text("destination", "namespace"))
	sources, _ := spec["sources"].([]any)
	add("Sources", "")
	if len(sources) == 0 {
		lines[len(lines)-1].Label = "Source"
		sources = []any{spec["source"]}
	}
	for i, v := range sources {
		s, _ := v.(map[string]any)
		get := func(key string) string { t, _ := s[key].(string); return t }
		at := get("targetRevision")
		if i == 0 {
			target = at
		}
		add("- Repo", repoShown(get("repoURL")))
		add("  Target", at)
		for _, f := range []struct{ label, key string }{{"  Path", "path"}, {"  Ref", "ref"}} {
			if get(f.key) != "" {
				add(f.label, get(f.key))
			}
		}
	}
	add("Sync Policy", policyShown(cr))
	if target == "" {
		target = "HEAD"
	}
	return lines, target
}

// repoShown is an address without the password that it may hold.
func repoShown(address string) string {
	scheme, rest, full := strings.Cut(address, "://")
	who, host, named := strings.Cut(rest, "@")
	if full && named && !strings.Contains(who, "/") && scheme != "ssh" {
		return scheme + "://***@" + host
	}
	return address
}

func policyShown(cr object.Object) string {
	block, there := cr.At("spec", "syncPolicy", "automated").(map[string]any)
	switch {
	case !there:
		return "Manual"
	case block["enabled"] == false:
		return "Manual (automated sync is held back: spec.syncPolicy.automated.enabled is false)"
	case block["prune"] == true:
		return "Automated (Prune)"
	}
	return "Automated"
}
