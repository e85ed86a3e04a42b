package stories

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// elsewhere is the same object in this cluster and in another one, and in the other one a workload under an HPA.
const elsewhere = `
-- here/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: NAMESPACE}, data: {k: here}}
-- there/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: NAMESPACE}, data: {k: there}}
-- there/more.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: NAMESPACE}, data: {k: there}}
-- there/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.21.0", resources: {requests: {cpu: 100m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 6
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
-- there/thither.yaml --
{apiVersion: there.truce.dev/v1, kind: Thither, metadata: {name: tool, namespace: NAMESPACE}, spec: {size: 3}}
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, data: {k: "{{ .Values.k }}", there: "{{ (lookup "v1" "ConfigMap" .Release.Namespace "asked").data.k }}", served: "{{ .Capabilities.APIVersions.Has "there.truce.dev/v1/Thither" }}"}}
-- adopted/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: adopted, namespace: NAMESPACE}, data: {k: there}}
-- tenant/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: of-tenant, namespace: NAMESPACE}, data: {k: there}}
`

// onlyThere defines a kind that the other cluster alone serves.
const onlyThere = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: thithers.there.truce.dev}
spec:
  group: there.truce.dev
  names: {kind: Thither, plural: thithers, singular: thither}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// farWorld is a story's world with another cluster beside its own. Both have a namespace of the same name.
type farWorld struct {
	*world
	there  *kubetest.Cluster
	clouds *cloudtest.Clouds
}

// kubeconfig makes the Secret of the apps hold a kubeconfig.
func (f farWorld) kubeconfig(text string) {
	f.t.Helper()
	f.Apply(f.t, f.kubeconfigSecret(text))
}

func (f farWorld) kubeconfigSecret(text string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: far, namespace: %s}, data: {value: %s}}", f.ns, base64.StdEncoding.EncodeToString([]byte(text)))
}

// as is the kubeconfig of the other cluster with another user.
func (f farWorld) as(user string) string {
	f.t.Helper()
	config, err := clientcmd.LoadFromFile(f.there.Kubeconfig)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate, info.ImpersonateGroups = user, []string{"system:masters"}
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// users lists who has written ConfigMaps of a name in the other cluster, as truce.
func (f farWorld) writers(name string) map[string]bool {
	out := map[string]bool{}
	for _, e := range f.there.Audit(f.t, func(e kubetest.Entry) bool {
		return f.byTruce(e) && e.Resource.Resource == "configmaps" && e.Name == name && e.Verb == "patch"
	}) {
		out[e.User] = true
	}
	return out
}

// drifts changes the ConfigMap of the other cluster by hand, and waits until it is as in Git again.
func (f farWorld) drifts(want string) {
	f.t.Helper()
	holds := func(k string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "k") == k }
	}
	cm := f.there.Watch(f.t, configmaps, f.ns, "cm")
	f.there.Kubectl(f.t, "patch", "configmap/cm", "-n", f.ns, "-p", `{"data":{"k":"by hand"}}`)
	cm.AwaitInTurn(f.ctx, 0, holds("by hand"), holds(want))
}

// unchangedHere fails the story if the object of this cluster is not the one of the app here.
func (f farWorld) unchangedHere() {
	f.t.Helper()
	if cm := f.get(configmaps, "cm"); cm == nil || text(cm, "data", "k") != "here" {
		f.t.Errorf("the object of this cluster is %v", cm)
	}
}

const inTheOtherCluster = `
interval: 1h
retryInterval: 1s
kubeConfig: {secretRef: {name: far}}`

func TestAnAppHasItsObjectsInAnotherCluster(t *testing.T) {
	t.Parallel()
	there := kubetest.Another(t)
	f := farWorld{offClusterWorld(t, elsewhere+mover+ofArgo), there, startClouds(t)}
	f.works = append(f.works, f.ns)
	there.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+f.ns+"}}")
	established(t, there, there.Apply(t, onlyThere)[0])
	f.run(compose.RunOptions{Clouds: cloud.Environment{"AWS_ENDPOINT_URL_STS": f.clouds.Host("sts.eu-west-1.amazonaws.com")}})
	f.app("here", "./here", defaultSpec)
	f.app("there", "./there", inTheOtherCluster)
	f.fails("there", "Secret "+f.ns+"/far, with the kubeconfig of the cluster, is not there")

	for _, scene := range []struct {
		name string
		play func(farWorld)
	}{
		{"a kubeconfig that runs a program is refused", refusedKubeconfig},
		{"the Secret brings the rollout", rolledOutThere},
		{"a HelmRelease has its objects and its releases there", releasedThere},
		{"commands look into the other cluster", commandsThere},
		{"an app moves from Flux to truce and back", adoptedThere},
		{"Applications name it as Argo CD does", applicationsThere},
		{"what the HPA there sets is ceded", cededThere},
		{"what leaves Git is pruned there", prunedThere},
		{"a rotated Secret is taken up", rotated},
		{"a server that is stopped is a condition of its apps alone", stoppedThere},
		{"a kubeconfig of another cluster takes and prunes nothing", pointsElsewhere},
		{"a changed spec.kubeConfig prunes nothing in either cluster", changesCluster},
		{"a service account is one of the other cluster", tenantThere},
		{"tokens of a service account of this cluster connect to the other one", tokensOfAccounts},
		{"a cluster of EKS is reached as a role of AWS", reachedAsRole},
		{"a deleted Secret ends the work there", withoutSecret},
		{"with the app go its objects", goneThere},
	} {
		if !t.Run(scene.name, func(t *testing.T) {
			now := *f.world
			now.t = t
			scene.play(farWorld{&now, there, f.clouds})
		}) {
			return
		}
	}
}

func refusedKubeconfig(f farWorld) {
	f.kubeconfig(strings.Replace(f.there.KubeconfigText(f.t), "user:\n", "user:\n    exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, interactiveMode: Never}\n", 1))
	f.fails("there", "exec is refused: no program is run")
}

func rolledOutThere(f farWorld) {
	f.kubeconfig(f.there.KubeconfigText(f.t))
	f.ready("there")
	f.ready("here")
	f.drifts("there")
	f.unchangedHere()
	if f.get(configmaps, "more") != nil {
		f.t.Error("an object of the other cluster is in this one")
	}
}

func releasedThere(f farWorld) {
	f.Apply(f.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: values, namespace: %s}, data: {values.yaml: 'k: from here'}}", f.ns))
	f.there.Apply(f.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: asked, namespace: %s}, data: {k: from there}}", f.ns))
	stored := func() string {
		return strings.TrimSpace(f.there.Kubectl(f.t, "get", "secrets", "-n", f.ns, "-l", "owner=helm,name=far", "--sort-by=.metadata.name", "-o",
			`jsonpath={range .items[*]}{.metadata.labels.version}:{.metadata.labels.status} {end}`))
	}
	for _, scene := range []struct{ deployed, removed string }{{"1:deployed", "1:uninstalled"}, {"1:superseded 2:deployed", "1:superseded 2:uninstalled"}} {
		f.Apply(f.t, f.releaseText("far", "  persistentClient: false\n  kubeConfig: {secretRef: {name: far}}\n  valuesFrom: [{kind: ConfigMap, name: values}]\n  uninstall: {keepHistory: true}\n"))
		cm := f.there.Watch(f.t, configmaps, f.ns, "far")
		f.await(cm, func(o *unstructured.Unstructured) bool {
			return text(o, "data", "k") == "from here" && text(o, "data", "there") == "from there" && text(o, "data", "served") == "true"
		})
		f.helmCondition("far", "Ready", func(c map[string]any) bool { return c["status"] == "True" })
		if got := stored(); got != scene.deployed {
			f.t.Errorf("the releases of the other cluster are %q, want %q", got, scene.deployed)
		}
		if got := f.storedReleases("far"); got != "" || f.get(configmaps, "far") != nil {
			f.t.Errorf("this cluster has the releases %q, or the object", got)
		}
		f.delete(helmReleases, f.ns, "far")
		f.goes(helmReleases, "far")
		cm.AwaitDeleted(f.ctx)
		if got := stored(); got != scene.removed {
			f.t.Errorf("after an uninstall that keeps history the releases are %q, want %q", got, scene.removed)
		}
	}
}

func cededThere(f farWorld) {
	web := f.there.Watch(f.t, deployments, f.ns, "web")
	f.there.Kubectl(f.t, "annotate", "deployment/web", "-n", f.ns, "sandbox.truce.dev/cpu-total=145m")
	f.await(web, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	f.edit("there/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	f.ready("there")
	o := f.await(web, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	if replicas(o) != 3 {
		f.t.Errorf("the count is %d, and the HPA has set 3", replicas(o))
	}
}

func prunedThere(f farWorld) {
	more := f.there.Watch(f.t, configmaps, f.ns, "more")
	f.repo.Remove("there/more.yaml")
	f.ready("there")
	more.AwaitDeleted(f.ctx)
}

func rotated(f farWorld) {
	f.kubeconfig(f.as("rotated"))
	f.until("the new credentials to be used", func() bool {
		f.drifts("there")
		return f.writers("cm")["rotated"]
	})
	f.ready("there")
}

func stoppedThere(f farWorld) {
	f.there.WhileStopped(f.t, func() {
		f.fails("there", "cannot connect to the API server at")
		f.edit("here/cm.yaml", "k: here", "k: here, more: here")
		f.ready("here")
	})
	f.ready("there")
	f.drifts("there")
}

func pointsElsewhere(f farWorld) {
	f.kubeconfig(f.KubeconfigText(f.t))
	f.fails("there", "nothing is applied or deleted")
	f.unchangedHere()
	if f.get(deployments, "web") != nil {
		f.t.Error("an object of the other cluster was made in this one")
	}
	f.repo.Remove("there/web.yaml")
	f.ready("here")
	f.fails("there", "nothing is applied or deleted")
	f.there.Kubectl(f.t, "get", "deployment/web", "-n", f.ns)
	f.unchangedHere()
	web := f.there.Watch(f.t, deployments, f.ns, "web")
	f.kubeconfig(f.there.KubeconfigText(f.t))
	f.ready("there")
	web.AwaitDeleted(f.ctx)
}

func tenantThere(f farWorld) {
	f.Apply(f.t, f.manifest("tenant", "./tenant", "serviceAccountName: tenant"+inTheOtherCluster))
	f.fails("tenant", `User "`+f.user("tenant")+`" cannot patch resource "configmaps"`)
	f.there.Apply(f.t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tenant, namespace: %[1]s}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant}
subjects: [{kind: ServiceAccount, name: tenant, namespace: %[1]s}]
`, f.ns))
	f.ready("tenant")
	if got := f.writers("of-tenant"); len(got) != 1 || !got[f.user("tenant")] {
		f.t.Errorf("the tenant's object was written by %v", got)
	}
	gone := f.there.Watch(f.t, configmaps, f.ns, "of-tenant")
	f.kubectl("delete", "kustomization/tenant")
	gone.AwaitDeleted(f.ctx)
}

func withoutSecret(f farWorld) {
	f.kubectl("delete", "secret/far")
	f.fails("there", "is not there")
	f.there.Kubectl(f.t, "patch", "configmap/cm", "-n", f.ns, "-p", `{"data":{"k":"by hand"}}`)
	f.edit("here/cm.yaml", "more: here", "more: still")
	f.ready("here")
	if got := f.there.Kubectl(f.t, "get", "configmap/cm", "-n", f.ns, "-o", "jsonpath={.data.k}"); got != "by hand" {
		f.t.Errorf("without the Secret the object is %q", got)
	}
	f.kubeconfig(f.there.KubeconfigText(f.t))
	f.ready("there")
}

func goneThere(f farWorld) {
	cm := f.there.Watch(f.t, configmaps, f.ns, "cm")
	f.kubectl("delete", "kustomization/there")
	cm.AwaitDeleted(f.ctx)
	f.unchangedHere()
}
