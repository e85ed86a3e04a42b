package flux

import helmv2 "github.com/fluxcd/helm-controller/api/v2"

// unsupportedInHelmRelease are the fields of HelmRelease that truce cannot do.
var unsupportedInHelmRelease = []fieldAdvice{}

// noteHelm says which fields have no effect.
func (r *reading) noteHelm(hr helmv2.HelmRelease) {
	install, upgrade, rollback := hr.GetInstall(), hr.GetUpgrade(), hr.GetRollback()
	if upgrade.Force || rollback.Force {
		r.Note("force has no effect in spec.upgrade and spec.rollback, as in Flux where objects are applied on the server's side: truce applies so alone, and takes its fields from other managers")
	}
	switch s := hr.GetWaitStrategy(); s {
	case helmv2.WaitStrategyPoller, "":
	case helmv2.WaitStrategyLegacy:
		r.Note("spec.waitStrategy: legacy has no effect: truce watches the objects, and judges them as poller does")
	default:
		r.Problem("spec.waitStrategy.name", "want poller or legacy, not %q", s)
	}
	if rollback.Recreate { //nolint:staticcheck // deprecated, and still in the API
		r.Note("spec.rollback.recreate has no effect, as in Flux")
	}
	if install.ServerSideApply != nil && !*install.ServerSideApply || upgrade.ServerSideApply == helmv2.ServerSideApplyDisabled {
		r.Note("serverSideApply is off in spec.install or spec.upgrade, and has no effect: truce applies on the server's side alone, and compares field by field")
	}
}
