package argocd

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Commands edits Applications, as the program argocd would (cmd/util/app.go of argo-cd). Its zero value is ready.
type Commands struct{}

var _ dialect.Commands = Commands{}

// Edit changes an Application.
func (Commands) Edit(r dialect.Resources, c dialect.Change) (dialect.Resources, error) {
	e := &edit{editor.Editor{CR: r.App.Clone()}}
	e.choose(c.Source, func() {
		e.unset(c.Unset)
		e.source(c)
		e.overlay(c)
		e.chart(c.Chart)
	})
	e.destination(c)
	e.policy(c)
	e.retry(c.Retry)
	e.options("syncOptions", c.Options)
	e.differences(c)
	e.standing(c)
	e.SetAdoption(c.Way, c.At)
	e.operation(c.Run)
	e.terminate(c.Terminate)
	e.end(c.Leave)
	e.Approve(c.ApprovePrune)
	return dialect.Resources{App: e.CR}, e.Err
}

// Create makes an Application. What the program argocd demands is demanded.
func (cs Commands) Create(key app.Key, c dialect.Change) (dialect.Resources, error) {
	given := func(text *string) bool { return text != nil && *text != "" }
	switch {
	case !given(c.Repo):
		return dialect.Resources{}, errors.New("--repo is required")
	case !given(c.Path) && !given(c.Chart.Chart):
		return dialect.Resources{}, errors.New("--path is required, or --helm-chart")
	}
	cr := object.Object{
		"apiVersion": apiVersion, "kind": application,
		"metadata": map[string]any{"name": key.Name, "namespace": key.Namespace},
		"spec":     map[string]any{"project": "default", "destination": map[string]any{}},
	}
	if c.Server == nil && c.Cluster == nil {
		server := inClusterServer
		c.Server = &server
	}
	return cs.Edit(dialect.Resources{App: cr}, c)
}

// edit is one change of one Application.
type edit struct{ editor.Editor }

// settable are what `unset` takes away whole.
var settable = map[string][]string{
	"revision": {"spec", "source", "targetRevision"}, "sync-policy": {"spec", "syncPolicy", "automated"},
	"sync-retry": {"spec", "syncPolicy", "retry"}, "revision-history-limit": {"spec", "revisionHistoryLimit"},
	"dest-namespace": {"spec", "destination", "namespace"},
	"nameprefix":     {"spec", "source", "kustomize", "namePrefix"}, "namesuffix": {"spec", "source", "kustomize", "nameSuffix"},
	"kustomize-namespace": {"spec", "source", "kustomize", "namespace"}, "kustomize-version": {"spec", "source", "kustomize", "version"},
	"ignore-missing-components":  {"spec", "source", "kustomize", "ignoreMissingComponents"},
	"ignore-missing-value-files": {"spec", "source", "helm", "ignoreMissingValueFiles"}, "pass-credentials": {"spec", "source", "helm", "passCredentials"},
}

func (e *edit) unset(flags []string) {
	for _, flag := range flags {
		path, ok := settable[flag]
		if !ok {
			e.Refuse("an Application has nothing to unset by --%s", flag)
			return
		}
		if len(path) > 1 && path[1] == "source" && e.severalSources() {
			return
		}
		e.Drop(path...)
	}
}

// choose has a change made to one of several sources, which stands in spec.source meanwhile.
func (e *edit) choose(source string, change func()) {
	if source == "" {
		change()
		return
	}
	list, _ := e.CR.At("spec", "sources").([]any)
	at := slices.IndexFunc(list, func(v any) bool {
		one, _ := v.(map[string]any)
		return one["name"] == source
	})
	if place, err := strconv.Atoi(source); err == nil {
		at = place - 1
	}
	if at < 0 || at >= len(list) {
		e.Refuse("spec.sources has no source %s: there are %d, counted from 1", source, len(list))
		return
	}
	beside := e.CR.At("spec", "source")
	e.Drop("spec", "sources")
	e.Put(list[at], "spec", "source")
	change()
	list = slices.Clone(list)
	list[at] = e.CR.At("spec", "source")
	e.Drop("spec", "source")
	if beside != nil {
		e.Put(beside, "spec", "source")
	}
	e.Put(list, "spec", "sources")
}

func (e *edit) severalSources() bool {
	list, _ := e.CR.At("spec", "sources").([]any)
	if len(list) > 0 {
		e.Refuse("spec.sources lists its sources: name one by --source-position or --source-name")
	}
	return len(list) > 0
}

func (e *edit) source(c dialect.Change) {
	if c.Repo == nil && c.Path == nil && c.Revision == nil && c.Files == (overlay.FilesChange{}) || e.severalSources() {
		return
	}
	e.SetText(c.Repo, "spec", "source", "repoURL")
	e.SetText(c.Path, "spec", "source", "path")
	e.SetText(c.Revision, "spec", "source", "targetRevision")
	e.flag(c.Files.Recurse, []string{"spec", "source", "directory", "recurse"})
	e.SetText(c.Files.Include, "spec", "source", "directory", "include")
	e.SetText(c.Files.Exclude, "spec", "source", "directory", "exclude")
	e.dropEmpty("spec", "source", "directory")
}

// dropEmpty takes a field away in which nothing is left.
func (e *edit) dropEmpty(path ...string) {
	if left, there := e.CR.At(path...).(map[string]any); there && len(left) == 0 {
		e.Drop(path...)
	}
}

// destination sets where objects go. A cluster has an address or a name, never both.
func (e *edit) destination(c dialect.Change) {
	e.SetText(c.Project, "spec", "project")
	e.SetText(c.Namespace, "spec", "destination", "namespace")
	if c.Server != nil && c.Cluster != nil {
		e.Refuse("a destination has --dest-server or --dest-name, not both")
		return
	}
	if c.Server != nil {
		e.Drop("spec", "destination", "name")
	}
	if c.Cluster != nil {
		e.Drop("spec", "destination", "server")
	}
	e.SetText(c.Server, "spec", "destination", "server")
	e.SetText(c.Cluster, "spec", "destination", "name")
}

// policy keeps what is not set: `--sync-policy automated` of an app that heals leaves it healing.
func (e *edit) policy(c dialect.Change) {
	switch c.Policy {
	case dialect.Automated:
		if e.CR.At("spec", "syncPolicy", "automated") == nil {
			e.Put(map[string]any{}, "spec", "syncPolicy", "automated")
		}
		e.enable()
	case dialect.Manual:
		e.Drop("spec", "syncPolicy", "automated")
	default:
	}
	e.automated("auto-prune", "prune", c.Prune)
	e.automated("self-heal", "selfHeal", c.SelfHeal)
	e.automated("allow-empty", "allowEmpty", c.Empty)
	if c.Keep != nil {
		e.Put(*c.Keep, "spec", "revisionHistoryLimit")
	}
}

// enable ends a hold. The block stays, also if nothing else is in it: without it the app is synced by hand.
func (e *edit) enable() {
	block, _ := e.CR.At("spec", "syncPolicy", "automated").(map[string]any)
	delete(block, "enabled")
}

func (e *edit) isAutomated() bool {
	block, there := e.CR.At("spec", "syncPolicy", "automated").(map[string]any)
	return there && block["enabled"] != false
}

func (e *edit) automated(flag, key string, value *bool) {
	if value == nil {
		return
	}
	if !e.isAutomated() {
		e.Refuse("cannot set --%s: application not configured with automatic sync (--sync-policy automated)", flag)
		return
	}
	e.Put(*value, "spec", "syncPolicy", "automated", key)
}

func (e *edit) retry(r dialect.Retry) {
	number := func(n *int64, keys ...string) {
		if n != nil {
			e.Put(*n, append([]string{"spec", "syncPolicy", "retry"}, keys...)...)
		}
	}
	span := func(d *time.Duration, key string) {
		if d != nil {
			e.Put(briefly(*d), "spec", "syncPolicy", "retry", "backoff", key)
		}
	}
	number(r.Limit, "limit")
	number(r.Factor, "backoff", "factor")
	span(r.Duration, "duration")
	span(r.MaxDuration, "maxDuration")
	if r.Refresh != nil {
		e.Put(*r.Refresh, "spec", "syncPolicy", "retry", "refresh")
	}
}

// briefly prints 3m, where Go prints 3m0s.
func briefly(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// options adds to a list of texts key=value, in which a key stands once; "!X" takes X away.
func (e *edit) options(name string, options []string) {
	if len(options) == 0 {
		return
	}
	list, _ := e.CR.At("spec", "syncPolicy", name).([]any)
	for _, o := range options {
		list = withOption(list, o)
	}
	if len(list) == 0 {
		e.Drop("spec", "syncPolicy", name)
		return
	}
	e.Put(list, "spec", "syncPolicy", name)
}

func withOption(list []any, option string) []any {
	gone, remove := strings.CutPrefix(option, "!")
	key, _, _ := strings.Cut(option, "=")
	at := slices.IndexFunc(list, func(v any) bool {
		text, _ := v.(string)
		has, _, _ := strings.Cut(text, "=")
		return remove && text == gone || !remove && has == key
	})
	switch {
	case remove && at < 0:
		return list
	case remove:
		return slices.Delete(list, at, at+1)
	case at < 0:
		return append(list, option)
	}
	list[at] = option
	return list
}

// standing makes the Application stand still, or holds automated sync back at a revision that a sync then brings.
func (e *edit) standing(c dialect.Change) {
	if how, _ := e.CR.Annotation(reader.AdoptedKey); c.Suspend != nil && how == string(policy.TakeBeside) {
		e.Refuse("%s is for Argo CD since truce adopt: annotate %s=observe for a standstill, or end that; truce release gives all back", skipKey, reader.ModeKey)
		return
	}
	if c.Suspend != nil {
		e.Drop("metadata", "annotations", skipKey)
		if *c.Suspend {
			e.Put("true", "metadata", "annotations", skipKey)
		}
	}
	switch {
	case c.Pin == nil:
	case *c.Pin == "":
		e.enable()
	case c.Run == nil:
		e.Refuse("a revision that is held must be synced")
	case e.isAutomated():
		e.Put(false, "spec", "syncPolicy", "automated", "enabled")
	}
}

func anyStrings(in []string) []any {
	out := make([]any, 0, len(in))
	for _, s := range in {
		out = append(out, s)
	}
	return out
}

// end says what becomes of the objects when the Application is deleted.
func (e *edit) end(leave policy.Prune) {
	if leave == "" {
		return
	}
	had, _ := e.CR.At("metadata", "finalizers").([]any)
	list := slices.DeleteFunc(slices.Clone(had), func(v any) bool {
		name, _ := v.(string)
		stem, _, _ := strings.Cut(name, "/")
		return stem == resourcesFinalizer
	})
	switch {
	case leave == policy.PruneDelete && len(list) < len(had): // in the user's own way
	case leave == policy.PruneDelete:
		e.Put(append(list, resourcesFinalizer), "metadata", "finalizers")
	case len(list) == 0:
		e.Drop("metadata", "finalizers")
	default:
		e.Put(list, "metadata", "finalizers")
	}
}
