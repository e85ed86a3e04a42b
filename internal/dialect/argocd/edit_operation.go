package argocd

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// requestInfo is an info of an operation: which request it is about.
const requestInfo = reader.Ours + "request"

// operation asks for a sync. There is one at a time, as in Argo CD.
func (e *edit) operation(run *dialect.Run) {
	if run == nil {
		return
	}
	if e.CR["operation"] != nil {
		e.Refuse("another operation is already in progress")
		return
	}
	sync := map[string]any{}
	if run.Revision != "" {
		sync["revision"] = run.Revision
	}
	if run.Prune != nil && *run.Prune {
		sync["prune"] = true
	}
	if run.DryRun {
		sync["dryRun"] = true
	}
	if len(run.Options) > 0 {
		sync["syncOptions"] = anyStrings(run.Options)
	}
	if run.Hooks == hook.SkipHooks {
		sync["syncStrategy"] = map[string]any{"apply": map[string]any{}}
	}
	var only []any
	for _, id := range e.selected(*run) {
		r := map[string]any{"group": id.Group, "kind": id.Kind, "name": id.Name}
		if id.Namespace != "" {
			r["namespace"] = id.Namespace
		}
		only = append(only, r)
	}
	if only != nil {
		sync["resources"] = only
	}
	operation := map[string]any{
		"sync": sync, "initiatedBy": map[string]any{"username": cmp.Or(run.By, "truce")},
		"info": []any{map[string]any{"name": requestInfo, "value": run.Token}},
	}
	if run.Entry != nil {
		e.rollback(sync, *run.Entry)
	} else if retry := e.CR.At("spec", "syncPolicy", "retry"); retry != nil { // as the server of Argo CD does
		operation["retry"] = object.CloneValue(retry)
	}
	e.CR["operation"] = operation
}

// rollback makes a sync one of an entry of the history, as the server of Argo CD asks for it: what the entry was synced from, without hooks. An entry that
// a sync of its revisions would not bring back is refused.
func (e *edit) rollback(sync map[string]any, id int64) {
	history, _ := e.CR.At("status", "history").([]any)
	var entry map[string]any
	for _, v := range history {
		if one, is := v.(map[string]any); is && one["id"] == id {
			entry = one
		}
	}
	if entry == nil {
		e.Refuse("status.history has no ID %d any more", id)
		return
	}
	if others := e.otherFields(sourcesIn(entry)); len(others) > 0 {
		e.Refuse("ID %d of the history was synced with another %s; a rollback changes the revision only. Set that back to what status.history has (truce app set), or revert the commit in Git", id, strings.Join(others, ", "))
		return
	}
	delete(sync, "revision")
	keys := []string{"revision", "source"}
	if entry["sources"] != nil { // Argo CD writes an empty source beside them
		keys = []string{"revisions", "sources"}
	}
	for _, key := range keys {
		if v, there := entry[key]; there {
			sync[key] = object.CloneValue(v)
		}
	}
	sync["syncStrategy"] = map[string]any{"apply": map[string]any{}}
}

// otherFields names the fields of the spec's sources that differ from those of an entry of the history, besides revisions. An entry without sources does
// not say.
func (e *edit) otherFields(was []any) (out []string) {
	spec, _ := e.CR["spec"].(map[string]any)
	now, at := sourcesIn(spec), "spec.source"
	switch {
	case len(was) == 0:
		return nil
	case len(was) != len(now):
		return []string{fmt.Sprintf("number of sources: %d, where the spec has %d", len(was), len(now))}
	}
	for i := range was {
		if hasManySources(e.CR) {
			at = fmt.Sprintf("spec.sources[%d]", i)
		}
		var a, b applicationSource
		if decodeInto(was[i], &a) != nil || decodeInto(now[i], &b) != nil {
			out = append(out, at)
		} else if !sameSources([]applicationSource{a}, []applicationSource{b}) {
			out = append(out, differingFields(at, was[i], now[i])...)
		}
	}
	return out
}

// sourcesIn lists the sources of a spec or an entry of the history, as they are written.
func sourcesIn(of map[string]any) []any {
	if list, _ := of["sources"].([]any); len(list) > 0 {
		return list
	}
	if one := of["source"]; one != nil {
		return []any{one}
	}
	return nil
}

// differingFields names the fields in which two sources differ, besides their revision.
func differingFields(at string, was, now any) (out []string) {
	a, _ := was.(map[string]any)
	b, _ := now.(map[string]any)
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if key != "targetRevision" && !reflect.DeepEqual(a[key], b[key]) {
			out = append(out, at+"."+key)
		}
	}
	return out
}

// terminate ends the operation that is under way, as the server of Argo CD does.
func (e *edit) terminate(asked bool) {
	if !asked {
		return
	}
	state, _ := e.CR.At("status", "operationState").(map[string]any)
	switch {
	case e.CR["operation"] != nil && !isBegun(e.CR):
		delete(e.CR, "operation")
	case state["phase"] == phaseRunning:
		state["phase"] = phaseTerminating
	case state["phase"] != phaseTerminating:
		e.Refuse("no operation is in progress")
	}
}
