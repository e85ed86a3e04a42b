package reconcile

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/decide/lifecycle"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/render/values"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// chartRun is what a run of an app with a Helm release knows of it.
type chartRun struct {
	store    releases.Store
	stored   []releases.Stored // the newest first
	runs     map[int]hook.Run  // of the newest, by the index of the hook
	made     *release.Release  // that the objects are of
	attempts remedy.Attempts   // of what is asked for
	// isForceOpen says that another release is asked for while a remedy is under way: the run behind the remedy makes it.
	isForceOpen bool
	// replaced says why the release is uninstalled so that another one is installed; empty for not.
	replaced string
	failure  hook.Step // as release.Installed has it, with its cause, and as the stored release remembers it; hook.Keep for none
	cause    string
	isFormer bool               // it is not the one that is asked for, but the one that it replaces
	decision lifecycle.Decision // how the release stands, and what this run does about it
}

// chartRequest completes the request for an app with a release: its values, the newest stored release and the cluster's capabilities.
func (r *appRun) chartRequest(ctx context.Context) error {
	spec := *r.app.Release
	q := spec.Template
	q.Release, q.Namespace = spec.Name, spec.Namespace
	home, err := r.home()
	if err != nil {
		return &stageError{report.AccessDenied, err}
	}
	if q.Values, err = values.ReadChartValues(ctx, home.Live, r.app.Key.Namespace, spec.From); err != nil {
		return &stageError{report.ValuesFailed, err}
	}
	if spec.Inline != "" {
		q.Values = append(q.Values, release.Values{Text: spec.Inline})
	}
	now, err := r.engine.Version.Capabilities(ctx)
	if err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	q.KubeVersion, q.APIVersions, q.Unanswered = now.KubeVersion, now.APIVersions, now.Unanswered
	if spec.Version == release.WithDigest {
		q.Metadata = digitsOf(r.artifact.Revision)
	}
	if err := r.listReleases(ctx); err != nil {
		return err
	}
	if err := errors.Join(r.newestRelease(ctx, &q), r.keepFormer(&q)); err != nil {
		return &stageError{report.RenderFailed, err}
	}
	q.Marks = marksOf(r.app)
	r.request.Chart, r.request.Lookup = &q, clusterLookup{live: r.access.Live, engine: r.engine}
	r.request.Path, err = chartDirectory(r.artifact.Files, r.app)
	if c := r.artifact.Chart; c.Directory != "" { // what the HelmChart says
		r.request.Path, err = c.Directory, nil
		q.Files, q.MissingFiles, q.Metadata = c.Values, release.FailOnMissing, c.Metadata
	}
	if r.app.Source.Chart != "" { // the archive has the chart's directory at its top
		q.Files = nil
		for _, name := range spec.Template.Files {
			q.Files = append(q.Files, path.Join(r.request.Path, name))
		}
	}
	if err != nil {
		return r.unrendered(err)
	}
	return nil
}

// CompleteChart puts what a chart's templates may ask about the API server into a request for objects of a chart, or of a kustomization that may name
// charts, unless that says it itself. It leaves other requests as they are.
func (e Dependencies) CompleteChart(ctx context.Context, q *render.Request) error {
	for i := range q.Parts {
		if err := e.CompleteChart(ctx, &q.Parts[i]); err != nil {
			return err
		}
	}
	var err error
	switch {
	case q.Inflate != nil:
		return e.completeInflation(ctx, q)
	case q.Chart != nil && q.Chart.Use == release.MakeObjects:
		if err := e.permitValues(ctx, q); err != nil {
			return err
		}
		q.Chart, err = e.withCapabilities(ctx, q.Chart)
	}
	return err
}

// permitValues refuses a file of values of another server where the installation of Argo CD does not allow the scheme of its address.
func (e Dependencies) permitValues(ctx context.Context, q *render.Request) error {
	for _, v := range q.Chart.Values {
		of, remote := upstream.AddressOf(v.File)
		if !remote || e.Builds == nil {
			continue
		}
		allowed, err := e.Builds.ValuesSchemes(ctx, q.Home.Namespace)
		if err != nil {
			return err
		}
		if scheme, _, _ := strings.Cut(of.URL, "://"); !slices.Contains(allowed, scheme) {
			return fmt.Errorf("%s: %s://: helm.valuesFileSchemes in ConfigMap argocd-cm allows only %q", v.From, scheme, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// completeInflation refuses the charts of a kustomization where the installation of Argo CD does, and else says what they see of the API server.
func (e Dependencies) completeInflation(ctx context.Context, q *render.Request) error {
	if e.Builds != nil {
		inflates, err := e.Builds.Inflates(ctx, q.Home.Namespace)
		if err != nil {
			return err
		}
		if !inflates {
			q.Inflate = nil
			return nil
		}
	}
	var err error
	q.Inflate, err = e.withCapabilities(ctx, q.Inflate)
	return err
}

// withCapabilities returns a request with what the API server serves, where that is open.
func (e Dependencies) withCapabilities(ctx context.Context, of *release.Request) (*release.Request, error) {
	if e.Version == nil || of.KubeVersion != "" && of.APIVersions != nil {
		return of, nil
	}
	now, err := e.Version.Capabilities(ctx)
	if err != nil {
		return of, err
	}
	return completed(of, &release.Request{KubeVersion: now.KubeVersion, APIVersions: now.APIVersions, Unanswered: now.Unanswered}), nil
}

// completed returns a request with what another one says of the API server, where that is open.
func completed(of, by *release.Request) *release.Request {
	out := *of
	out.KubeVersion = cmp.Or(out.KubeVersion, by.KubeVersion)
	if out.APIVersions == nil {
		out.APIVersions, out.Unanswered = by.APIVersions, by.Unanswered
	}
	return &out
}

// keepFormer completes the request by the release whose values are kept. As in Helm it is the one that is deployed: what has failed is not kept.
func (r *appRun) keepFormer(q *release.Request) error {
	i := slices.IndexFunc(r.chart.stored, func(s releases.Stored) bool { return s.Status == hook.Deployed })
	if q.Former != release.KeepFormer || i <= 0 {
		return nil
	}
	text, err := r.chart.stored[i].Text()
	if err == nil {
		q.Deployed = &release.Stored{Text: text}
	}
	return err
}

// newestRelease completes the request by the newest stored release.
func (r *appRun) newestRelease(ctx context.Context, q *release.Request) error {
	if len(r.chart.stored) == 0 {
		return nil
	}
	newest := r.chart.stored[0]
	text, err := newest.Text()
	if err != nil {
		return err
	}
	q.Past, r.chart.runs = newest.Revision, releases.HookRuns(text)
	if newest.Status == hook.Uninstalled {
		return nil
	}
	q.Newest = &release.Stored{Text: text, Trust: r.trustIn(newest.Revision, text)}
	if q.Newest.Trust == release.Foreign && r.isInherited(newest, text) {
		q.Newest.Trust = release.Trusted
	}
	if q.Newest.Trust == release.Foreign && newest.Seal != "" { // the process that has stored it was killed before the status said so
		seal, err := r.seal(ctx, text)
		if err != nil {
			return err
		}
		if subtle.ConstantTimeCompare([]byte(seal), []byte(newest.Seal)) == 1 {
			q.Newest.Trust = release.Trusted
		}
	}
	if newest.Status == hook.FailedRelease || newest.ByOthers && newest.Status.IsUnderWay() || r.isForced() {
		q.Mode = release.Again
	}
	return nil
}

// chartSecrets are what Secrets gave to the values of a chart.
func (r *appRun) chartSecrets() []string {
	if r.request.Chart == nil {
		return nil
	}
	return values.SecretTexts(r.request.Chart.Values)
}

// seal is the code of a release that is made of what is asked for now: of its content, whatever its state is, of the app, and of where it is stored.
func (r *appRun) seal(ctx context.Context, text []byte) (string, error) {
	if r.engine.Seals == nil {
		return "", nil
	}
	body, err := json.Marshal([]string{"release", r.app.Key.String(), r.app.UID, r.app.Release.Storage, r.app.Release.Renders, releases.DigestOf(text)})
	if err != nil {
		return "", err
	}
	return r.engine.Seals.Seal(ctx, string(body))
}

// trustIn says whether a stored release is one that truce has stored, and made of what is asked for now.
func (r *appRun) trustIn(revision int, text []byte) release.Trust {
	spec, digest := r.app.Release, releases.DigestOf(text)
	rendered, known := spec.Rendered, spec.Known[revision] == digest
	if last := r.report.Release; last != nil { // the custom resource may not say it yet
		rendered, known = last.Renders, known || last.Revision == revision && last.Digest == digest
	}
	if known && rendered == spec.Renders {
		return release.Trusted
	}
	return release.Foreign
}

// isInherited reports whether a release that others have made is taken as it is, where it is of the chart and the values that are asked for: it was
// there when the app was adopted, which is known to the second, or the app is only observed.
func (r *appRun) isInherited(newest releases.Stored, text []byte) bool {
	a := r.app.Adoption
	if !newest.ByOthers || r.app.Release.Rendered != r.app.Release.Renders {
		return false
	}
	return r.app.Policy.Mode == policy.Observe || a.Takes() && (a.At.IsZero() || !releases.LastDeployed(text).Truncate(time.Second).After(a.At))
}

// marksOf are what helm-controller puts on the objects of a release before it stores them.
func marksOf(a app.App) overlay.Metadata {
	m := a.Overlay.Metadata
	out := overlay.Metadata{Labels: maps.Clone(m.Labels), Annotations: m.Annotations}
	maps.Copy(out.Labels, a.Labels)
	return out
}

// digitsOf are the first digits of the commit or digest that a revision ends with, which Flux appends to the version of a chart; none for a revision without.
func digitsOf(revision string) string {
	at := strings.LastIndexByte(revision, ':')
	if at < 0 {
		return ""
	}
	digits := revision[at+1:]
	return digits[:min(12, len(digits))]
}

// chartDirectory is the directory of the chart: of an archive the one that has the chart, else the app's path and no other: where that has no chart, another
// chart of the source is not what was asked for, and would take the place of the release. A packaged chart may lie there instead.
func chartDirectory(files source.Tree, a app.App) (string, error) {
	if a.Release.Packed {
		return chartfile.DirectoryOf(files)
	}
	if chartfile.IsPackaged(files, a.Path) {
		return a.Path, nil
	}
	return a.Path, layout.CheckDirectory(files, a.Path)
}

// reportRelease reports the newest release, what was done last, and how the releases before have ended.
func (r *appRun) reportRelease() {
	made := r.chart.made
	if made == nil {
		return
	}
	was := r.report.Release
	if len(r.chart.stored) == 0 {
		if was == nil && r.chart.decision.Blocked != remedy.NotBlocked {
			was = r.app.Release.Newest // an earlier process has seen it
		}
		if was != nil { // it was uninstalled
			next := *was
			next.Attempts, next.Blocked = r.chart.attempts, r.chart.decision.Blocked
			r.report.Release = &next
		}
		return
	}
	newest := r.chart.stored[0]
	text, err := newest.Text()
	if err != nil {
		return // it was read, or written, before
	}
	next := release.Installed{
		Name: r.app.Release.Name, Namespace: r.app.Release.Namespace, Storage: r.app.Release.Storage, Revision: newest.Revision, Status: newest.Status,
		Content: record.Content{
			Chart: made.Chart, Version: made.Version, AppVersion: made.AppVersion, Config: made.Config, Digest: releases.DigestOf(text),
			First: releases.FirstDeployed(text), Last: releases.LastDeployed(text),
		},
		Renders:  r.app.Release.Renders,
		Attempts: r.chart.attempts, Blocked: r.chart.decision.Blocked, Tests: r.testRuns(newest), Reset: r.app.Release.SeenReset, Force: r.answeredForce(), Past: map[int]release.Past{},
	}
	if was != nil && was.Revision == next.Revision && was.Digest == next.Digest { // the run may have read another chart meanwhile
		next.Content = was.Content
		next.Last = releases.LastDeployed(text)
	}
	for _, s := range r.chart.stored[1:] {
		next.Past[s.Revision] = r.pastRelease(was, s)
	}
	if was != nil {
		next.Reset, next.Force = cmp.Or(next.Reset, was.Reset), cmp.Or(next.Force, was.Force)
		next.Action, next.Ended, next.Target = was.Action, was.Ended, was.Target
		next.Failure, next.Cause, next.RemedyCause = was.Failure, was.Cause, was.RemedyCause
	} else {
		next.Failure, next.Cause = r.chart.failure, r.chart.cause
		recallRemedy(&next, text)
	}
	r.report.Release = &next
}

// pastRelease is an earlier release, as far as this process knows it.
func (r *appRun) pastRelease(was *release.Installed, s releases.Stored) release.Past {
	var out release.Past
	switch {
	case was == nil || was.Name != r.app.Release.Name || was.Namespace != r.app.Release.Namespace:
	case was.Revision == s.Revision:
		out = release.Past{Content: was.Content, Action: was.Action}
	default:
		out = was.Past[s.Revision]
	}
	out.Status, out.Tests = s.Status, r.testRuns(s)
	return out
}

// reportAction reports how an action stands. What is remedied is remembered until something else is tried.
func (r *appRun) reportAction(action hook.Step, ended remedy.Ended, cause string) {
	r.reportRelease()
	now := r.report.Release
	if now == nil {
		return
	}
	now.Action, now.Ended, now.Target, now.RemedyCause = action, ended, r.rollbackTarget(), ""
	switch {
	case isRemedy(action):
		now.RemedyCause = cause
	case ended == remedy.EndedFailed:
		now.Failure, now.Cause = action, cause
	default:
		now.Failure, now.Cause = hook.Keep, ""
	}
}

// rollbackTarget is the revision that the newest stored release makes again; 0 where it is no rollback.
func (r *appRun) rollbackTarget() int {
	if len(r.chart.stored) == 0 {
		return 0
	}
	text, err := r.chart.stored[0].Text()
	if err != nil {
		return 0 // it was read, or written, before
	}
	return releases.RollbackTarget(text)
}

// releaseKey is the part of what a rollout is about that a chart's release says.
func (r *appRun) releaseKey() string {
	m := r.chart.made
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%s %d %s %s %s", m.Step, m.Revision, m.Chart, m.Version, m.Config)
}
