package reconcile

import (
	"context"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/decrypt"
	"github.com/truce-gitops/truce/internal/render/values"
	"github.com/truce-gitops/truce/internal/report"
)

// home is the access to the cluster of the app's custom resource, as the service account of that name there.
func (r *appRun) home() (tenancy.Access, error) {
	if r.engine.Home == nil {
		return r.access, nil
	}
	return tenancy.AccessOf(r.engine.Home, r.app)
}

// inputs reads what the build needs besides files.
func (r *appRun) inputs(ctx context.Context) error {
	if r.app.Release != nil {
		return r.chartRequest(ctx)
	}
	if err := r.engine.CompleteChart(ctx, &r.request); err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	r.state.mu.Lock()
	r.state.chart = chartIn(r.request)
	r.state.mu.Unlock()
	return r.values(ctx)
}

// values reads the variables and the decryption keys of the run's app, as its account.
func (r *appRun) values(ctx context.Context) error {
	from, err := r.home()
	if err != nil {
		return &stageError{report.AccessDenied, err}
	}
	set, err := values.ReadVariables(ctx, from.Live, r.app.Key.Namespace, r.app.PostBuild)
	if err != nil {
		return &stageError{report.RenderFailed, err}
	}
	keys, notes, err := values.ReadKeys(ctx, from.Live, r.app.Key, r.app.Decryption)
	if err != nil {
		return &stageError{report.RenderFailed, err}
	}
	r.request.Variables, r.request.Decryption = set, keys
	r.report.Notes = append(r.report.Notes, notes...)
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.variables, r.state.keys = set, keys.Forget()
	return nil
}

// sourcesOfSecrets names what the secret values of this build come from: another value has another name, and the name reveals none.
func (r *appRun) sourcesOfSecrets() string {
	if r.request.Variables == nil {
		return r.artifact.Revision
	}
	return strings.Join(append([]string{r.artifact.Revision}, r.request.Variables.SecretVersions...), "\n")
}

// hideInputs remembers what Secrets gave to the build, and what that has found in encrypted files: no message has it.
func (r *appRun) hideInputs(decrypted []string) {
	r.secrets = redact.KnownOrNil(slices.Concat(r.request.Variables.SecretValues(), decrypted, r.chartSecrets()))
}

// redacted is a text that may be written down: with the fields of the sources that it is about, and without what is secret.
func (r *appRun) redacted(text string) string {
	text = redact.MaskText(r.asked.WithFields(text))
	if r.secrets != nil {
		text = r.secrets.Text(text)
	}
	return text
}

// hide remembers what is secret of the build, and refuses Secrets that are still encrypted.
func (r *appRun) hide(res render.Result) error {
	r.hideInputs(res.Secrets)
	if r.app.Decryption.IsSet() {
		return nil
	}
	if err := decrypt.CheckPlain(res.Objects); err != nil {
		return &stageError{report.ApplyFailed, err}
	}
	return nil
}
