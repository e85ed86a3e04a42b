package flux

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Commands edits Kustomizations, and the GitRepositories that they read.
type Commands struct {
	// Dropped are the fields that the cluster's CRD does not keep, as Drops returns them: annotations serve instead.
	Dropped []string
}

var _ dialect.Commands = Commands{}

// revisionKey is the annotation that pins a Kustomization to a commit of its source.
const revisionKey = reader.Ours + "revision"

// Edit changes a Kustomization, and its GitRepository where the change is about the repository or the branch.
func (cs Commands) Edit(r dialect.Resources, c dialect.Change) (dialect.Resources, error) {
	e := &edit{Editor: editor.Editor{CR: r.App.Clone()}, dropped: cs.Dropped}
	e.foreign(c)
	e.unset(c.Unset)
	e.plan(c)
	e.overlay(c.Overlay)
	e.SetAdoption(c.Way, c.At)
	e.remediation(c.SelfHeal)
	e.differences(c)
	e.SetText(c.Pin, "metadata", "annotations", revisionKey)
	e.run(c.Run)
	e.deletion(c.Leave)
	e.Approve(c.ApprovePrune)
	out := dialect.Resources{App: e.CR, Source: r.Source}
	if e.Err == nil && (c.Repo != nil || c.Revision != nil) {
		out.Source, e.Err = editSource(r.Source, c)
	}
	return out, e.Err
}

// Create makes a Kustomization and a GitRepository of the same name.
func (cs Commands) Create(key app.Key, c dialect.Change) (dialect.Resources, error) {
	for flag, text := range map[string]*string{"--repo": c.Repo, "--path": c.Path} {
		if text == nil || *text == "" {
			return dialect.Resources{}, fmt.Errorf("%s is required", flag)
		}
	}
	named := func(api, kind string, spec map[string]any) object.Object {
		return object.Object{"apiVersion": api, "kind": kind, "metadata": map[string]any{"name": key.Name, "namespace": key.Namespace}, "spec": spec}
	}
	if c.Revision == nil {
		branch := "main" // Flux's own default is master, which few repositories have any more
		c.Revision = &branch
	}
	return cs.Edit(dialect.Resources{
		App: named(kustomizeAPI, kustomization, map[string]any{
			"interval": "10m", "prune": true, "sourceRef": map[string]any{"kind": gitRepository, "name": key.Name},
		}),
		Source: named(sourceAPI, gitRepository, map[string]any{"interval": "1m"}),
	}, c)
}

// edit is one change of one custom resource.
type edit struct {
	editor.Editor
	dropped []string
}

// foreign refuses what only an Application has.
func (e *edit) foreign(c dialect.Change) {
	for flag, set := range map[string]bool{
		"--project": c.Project != nil, "--dest-name": c.Cluster != nil, "--allow-empty": c.Empty != nil,
		"--sync-option": len(c.Options) > 0, "--revision-history-limit": c.Keep != nil, "--sync-retry-limit": c.Retry.Limit != nil,
		"--sync-retry-backoff-factor": c.Retry.Factor != nil, "--sync-retry-backoff-max-duration": c.Retry.MaxDuration != nil,
		"--sync-retry-refresh": c.Retry.Refresh != nil, "--kustomize-replica": len(c.Overlay.Replicas)+len(c.Overlay.DropReplicas) > 0,
		"--kustomize-common-label": c.Overlay.Labels != nil, "--kustomize-common-annotation": c.Overlay.Annotations != nil,
		"--kustomize-label-without-selector": c.Overlay.WithoutSelectors != nil, "--kustomize-label-include-templates": c.Overlay.Templates != nil,
		"--kustomize-force-common-label": c.Overlay.ForceLabels != nil, "--kustomize-force-common-annotation": c.Overlay.ForceAnnotations != nil,
		"--kustomize-version": c.Overlay.Version != nil, "--source-position": c.Source != "", "--directory-recurse": c.Files != (overlay.FilesChange{}), "--helm-set": !reflect.DeepEqual(c.Chart, overlay.ChartChange{}),
	} {
		if set {
			e.Refuse("a Kustomization has nothing that %s could set", flag)
		}
	}
	if c.Server != nil && *c.Server != "https://kubernetes.default.svc" {
		e.Refuse("a Kustomization goes to the cluster that it is in; --dest-server can be https://kubernetes.default.svc only")
	}
	e.prunes(c)
	if c.Terminate {
		e.Refuse("a Kustomization has no operations to terminate: `truce app suspend` stops its runs")
	}
	if c.Run != nil && (c.Run.Revision != "" && c.Pin == nil || c.Run.DryRun || len(c.Run.Resources)+len(c.Run.Except) > 0 || len(c.Run.Options) > 0 || c.Run.Hooks != "") {
		e.Refuse("a Kustomization is synced whole, at the newest revision: use `truce app diff` for a dry run, `truce app rollback` for a revision")
	}
}

// prunes refuses a --prune that spec.prune contradicts. A rollback leaves the question to spec.prune unless it is asked.
func (e *edit) prunes(c dialect.Change) {
	if c.Run == nil || c.Run.Prune == nil {
		return
	}
	wanted, does := *c.Run.Prune, e.CR.At("spec", "prune") == true
	if wanted && !does || !wanted && does && c.Pin == nil {
		e.Refuse("a Kustomization is pruned by its spec.prune, not by --prune: use `truce app set --auto-prune=%t`", wanted)
	}
}

// settings are what `unset` takes away.
var settings = map[string][]string{
	"sync-retry": {"spec", "retryInterval"}, "dest-namespace": {"spec", "targetNamespace"},
	"revision":   {"metadata", "annotations", revisionKey},
	"nameprefix": {"spec", "namePrefix"}, "namesuffix": {"spec", "nameSuffix"}, "kustomize-namespace": {"spec", "targetNamespace"},
	"ignore-missing-components": {"spec", "ignoreMissingComponents"},
}

func (e *edit) unset(flags []string) {
	for _, flag := range flags {
		if flag == "sync-policy" {
			e.suspend(false)
			continue
		}
		path, ok := settings[flag]
		if !ok {
			e.Refuse("a Kustomization has nothing to unset by --%s", flag)
			return
		}
		e.Drop(path...)
	}
}

func (e *edit) plan(c dialect.Change) {
	e.SetText(c.Path, "spec", "path")
	e.SetText(c.Namespace, "spec", "targetNamespace")
	if c.Retry.Duration != nil {
		e.Put(c.Retry.Duration.String(), "spec", "retryInterval")
	}
	if c.Prune != nil {
		e.Put(*c.Prune, "spec", "prune")
	}
	switch {
	case c.Policy != "":
		e.suspend(c.Policy == dialect.Manual)
	case c.Suspend != nil:
		e.suspend(*c.Suspend)
	}
}

// suspend sets spec.suspend, or takes it away.
func (e *edit) suspend(on bool) {
	switch {
	case isBesideFlux(e.CR):
		e.Refuse("spec.suspend is for Flux since truce adopt: annotate %s=observe for a standstill, or end that; truce release gives all back", reader.ModeKey)
	case on:
		e.Put(true, "spec", "suspend")
	default:
		e.Drop("spec", "suspend")
	}
}

// isBesideFlux reports whether an app was adopted from Flux, which is kept from it by spec.suspend.
func isBesideFlux(cr object.Object) bool {
	how, _ := cr.Annotation(reader.AdoptedKey)
	return how == string(policy.TakeBeside)
}

// remediation says whether drift is corrected, where the cluster keeps it.
func (e *edit) remediation(heal *bool) {
	if heal == nil {
		return
	}
	_, annotated := e.CR.Annotation(remediateKey)
	if annotated || e.drops("spec.remediation") {
		e.Put(strconv.FormatBool(*heal), "metadata", "annotations", remediateKey)
		return
	}
	e.Put(*heal, "spec", "remediation", "remediate")
}

func (e *edit) drops(name string) bool {
	return slices.ContainsFunc(e.dropped, func(d string) bool { return d == name || strings.HasPrefix(d, name+".") })
}

// run asks for a run in Flux's way.
func (e *edit) run(r *dialect.Run) {
	if r == nil {
		return
	}
	e.Put(r.Token, "metadata", "annotations", requestedAt)
	if r.Force {
		e.Put(r.Token, "metadata", "annotations", helmv2.ForceRequestAnnotation)
	}
	if r.Reset {
		e.Put(r.Token, "metadata", "annotations", helmv2.ResetRequestAnnotation)
	}
}

// deletion says what becomes of the objects when the Kustomization is deleted.
func (e *edit) deletion(leave policy.Prune) {
	switch {
	case leave == policy.PruneDelete && e.CR.At("spec", "deletionPolicy") == kustomizev1.DeletionPolicyWaitForTermination:
	case leave == policy.PruneKeep:
		e.Put("Orphan", "spec", "deletionPolicy")
	case leave == policy.PruneDelete && e.CR.At("spec", "prune") != true:
		e.Put("Delete", "spec", "deletionPolicy")
	case leave == policy.PruneDelete && e.CR.At("spec", "deletionPolicy") == "Orphan":
		e.Put("Delete", "spec", "deletionPolicy")
	}
}

var (
	commitForm = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	rangeForm  = regexp.MustCompile(`^[<>=~^]|\*|^v?[0-9]+(\.[0-9]+)?\.x$`)
)

// editSource changes a GitRepository or OCIRepository: what a revision is shows by its form, as in Argo CD's targetRevision.
func editSource(cr object.Object, c dialect.Change) (object.Object, error) {
	if cr == nil {
		return nil, fmt.Errorf("the app's source is no GitRepository or OCIRepository in this cluster: edit it itself")
	}
	e := &edit{Editor: editor.Editor{CR: cr.Clone()}}
	e.SetText(c.Repo, "spec", "url")
	if cr.GVK().Kind == ociRepository {
		e.artifactRef(c.Revision)
		return e.CR, e.Err
	}
	if c.Revision != nil {
		e.Drop("spec", "ref")
		switch text := *c.Revision; {
		case text == "":
		case commitForm.MatchString(text):
			e.Put(text, "spec", "ref", "commit")
		case strings.HasPrefix(text, "refs/"):
			e.Put(text, "spec", "ref", "name")
		case rangeForm.MatchString(text):
			e.Put(text, "spec", "ref", "semver")
		case tagForm.MatchString(text):
			e.Put(text, "spec", "ref", "tag")
		default:
			e.Put(text, "spec", "ref", "branch")
		}
	}
	return e.CR, e.Err
}

// artifactRef says which artifact of a registry is meant: a digest, a range of versions, or a tag.
func (e *edit) artifactRef(revision *string) {
	if revision == nil {
		return
	}
	e.Drop("spec", "ref")
	switch text := *revision; {
	case text == "":
	case strings.HasPrefix(text, "sha256:"):
		e.Put(text, "spec", "ref", "digest")
	case rangeForm.MatchString(text):
		e.Put(text, "spec", "ref", "semver")
	default:
		e.Put(text, "spec", "ref", "tag")
	}
}

// tagForm are texts that are versions. Another tag is written refs/tags/NAME.
var tagForm = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+`)
