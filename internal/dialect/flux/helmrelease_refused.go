package flux

import helmv2 "github.com/fluxcd/helm-controller/api/v2"

// unsupportedInHelmRelease are the fields of HelmRelease that truce cannot do.
var unsupportedInHelmRelease = []fieldAdvice{}

// refuseHelm refuses what is asked for of Helm's actions, and is not done yet.
func (r *reading) refuseHelm(hr helmv2.HelmRelease) {
	install, upgrade, rollback, uninstall := hr.GetInstall(), hr.GetUpgrade(), hr.GetRollback(), hr.GetUninstall()
	for _, f := range []struct {
		set            bool
		field, instead string
	}{
		{install.DisableTakeOwnership, "spec.install.disableTakeOwnership", "objects that are there already are taken over"},
		{upgrade.DisableTakeOwnership, "spec.upgrade.disableTakeOwnership", "objects that are there already are taken over"},
		{upgrade.ChartNameChangeStrategy == helmv2.ChartNameChangeStrategyReinstall, "spec.upgrade.chartNameChangeStrategy", "a chart of another name is an upgrade; InPlaceUpdate says so"},
		{uninstall.DeletionPropagation != nil && *uninstall.DeletionPropagation != "" && *uninstall.DeletionPropagation != "background", "spec.uninstall.deletionPropagation", "objects are deleted in the background"},
	} {
		if f.set {
			r.Unsupported(f.field, f.instead)
		}
	}
	if upgrade.CleanupOnFail || rollback.CleanupOnFail {
		r.Note("cleanupOnFail: what a failed upgrade or rollback has made stays until the next one, or the remedy, has succeeded; it is in the inventory, and is pruned then")
	}
	if upgrade.Force || rollback.Force {
		r.Note("force has no effect in spec.upgrade and spec.rollback, as in Flux where objects are applied on the server's side: truce applies so alone, and takes its fields from other managers")
	}
	if rollback.Recreate { //nolint:staticcheck // deprecated, and still in the API
		r.Note("spec.rollback.recreate has no effect, as in Flux")
	}
	if install.ServerSideApply != nil && !*install.ServerSideApply || upgrade.ServerSideApply == helmv2.ServerSideApplyDisabled {
		r.Note("serverSideApply is off in spec.install or spec.upgrade, and has no effect: truce applies on the server's side alone, and compares field by field")
	}
}
