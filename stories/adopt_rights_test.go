package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/controller/instance"
)

// TestAnAdoptionIsRefusedWithoutTheRightsForAllOfIt: else some objects of the app would be truce's, and some of a controller that is suspended. The account is the
// controller's own, and then one that the app names.
func TestAnAdoptionIsRefusedWithoutTheRightsForAllOfIt(t *testing.T) {
	w := offArgoWorld(t, kept)
	apartFromOthers(t)
	w.bornBy(besideFlux, bySSA("kustomize-controller"))
	besideFlux.app(w)
	t.Cleanup(func() { w.freed(kustomizations, "web") })
	w.kubectl(append([]string{"patch", besideFlux.cr, "--type=merge", "-p", besideFlux.list(w)}, besideFlux.sub...)...)
	w.repo.Remove("apps/web/old.yaml")
	w.kubectl(besideFlux.stop...)
	w.kubectl("delete", "configmap", "settings")
	for _, account := range []string{"truce", "tenant"} {
		w.kubectl("create", "serviceaccount", account)
		w.kubectl("create", "role", account, "--verb=get,list,watch,patch", "--resource=configmaps,horizontalpodautoscalers.autoscaling")
		w.kubectl("create", "rolebinding", account, "--role="+account, "--serviceaccount="+w.ns+":"+account)
	}
	w.account = "system:serviceaccount:" + w.ns + ":truce"
	w.kubectl("create", "configmap", instance.ConfigMap)
	w.publishes(instance.Settings{})

	run := w.truce()
	lacks := func(account string) {
		who := `User "system:serviceaccount:` + w.ns + ":" + account + `" cannot `
		for _, args := range []string{"adopt web --dry-run", "adopt web --timeout 5s"} {
			w.saysOf(run, 1, args, "Kustomization "+w.ns+"/web is not adopted, since not all of it could be written: ",
				who+`patch resource "deployments" in API group "apps" in the namespace "`+w.ns+`" (Deployment.apps `+w.ns+`/web)`,
				who+`create resource "configmaps" in API group "" in the namespace "`+w.ns+`" (ConfigMap `+w.ns+`/settings)`,
				who+`delete resource "configmaps" in API group "" in the namespace "`+w.ns+`" (ConfigMap `+w.ns+`/old)`,
			)
		}
		if got := w.wroteAnything(); len(got) > 1 { // that of publishes
			t.Errorf("the command wrote before it refused: %v", got)
		}
		w.kubectl("create", "rolebinding", account+"-all", "--clusterrole=cluster-admin", "--serviceaccount="+w.ns+":"+account)
		w.saysOf(run, 0, "adopt web --dry-run", "adopted (beside) (dry run)")
	}
	lacks("truce")
	w.kubectl("patch", besideFlux.cr, "--type=merge", "-p", `{"spec":{"serviceAccountName":"tenant"}}`)
	lacks("tenant")
}
