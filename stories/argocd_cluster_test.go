package stories

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// ofArgo is a directory of the other cluster's, for Applications.
const ofArgo = `
-- argo/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: of-argo}, data: {k: argo}}
-- capable/Chart.yaml --
{apiVersion: v2, name: capable, version: 1.0.0}
-- capable/templates/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: capable}, data: {served: "{{ .Capabilities.APIVersions.Has "there.truce.dev/v1/Thither" }}"}}
`

// clusterSecret is a cluster Secret of Argo CD with further keys.
func (f farWorld) clusterSecret(secret, name, server, more string) string {
	f.t.Helper()
	there := f.there.Config()
	config, err := json.Marshal(map[string]any{"bearerToken": there.BearerToken, "username": there.Username, "password": there.Password, "tlsClientConfig": tlsOf(f.t, there)})
	if err != nil {
		f.t.Fatal(err)
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: %s, labels: {argocd.argoproj.io/secret-type: cluster}}
stringData: {name: %s, server: %q, config: %q%s}
`, secret, f.ns, name, server, config, more)
}

// tlsOf is a tlsClientConfig of Argo CD.
func tlsOf(t *testing.T, c *rest.Config) map[string]any {
	t.Helper()
	copied := rest.CopyConfig(c)
	if err := rest.LoadTLSFiles(copied); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"caData": copied.CAData, "certData": copied.CertData, "keyData": copied.KeyData}
}

// applicationsThere: an Application names the other cluster by its name, or by its address, and a Secret of Argo CD describes it.
func applicationsThere(f farWorld) {
	cm := f.there.Watch(f.t, configmaps, f.ns, "of-argo")
	holds := func(k string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "k") == k }
	}
	toProd := replace(f.t, f.applicationText("far", "argo", automated), "server: https://kubernetes.default.svc", "name: prod")
	f.Apply(f.t, toProd)
	f.argoCondition("far", "InvalidSpecError", "cluster prod: no Secret of namespace "+f.ns)

	server := f.there.Config().Host
	f.Apply(f.t, f.clusterSecret("prod", "prod", server, ""))
	f.await(cm, holds("argo"))
	f.inSync("far")
	if f.get(configmaps, "of-argo") != nil {
		f.t.Error("the object is in the cluster of the Application")
	}
	f.there.Kubectl(f.t, "patch", "configmap/of-argo", "-n", f.ns, "-p", `{"data":{"k":"by hand"}}`)
	cm.AwaitInTurn(f.ctx, 0, holds("by hand"), holds("argo"))

	run := f.truce()
	f.saysOf(run, 0, "app diff far")
	f.saysOf(run, 0, "app get far", "Synced")

	// A chart sees what the other cluster serves.
	capable := f.there.Watch(f.t, configmaps, f.ns, "capable")
	f.Apply(f.t, replace(f.t, f.applicationText("capable", "capable", automated), "server: https://kubernetes.default.svc", "name: prod"))
	f.await(capable, func(o *unstructured.Unstructured) bool { return text(o, "data", "served") == "true" })
	f.inSync("capable")
	f.saysOf(run, 0, "app diff capable")
	f.kubectl("delete", "application.argoproj.io/capable", "-n", f.ns, "--timeout=60s")

	// What Git says of the same cluster by its address is another app, and the object is the first one's.
	f.Apply(f.t, replace(f.t, f.applicationText("again", "argo", automated), "server: https://kubernetes.default.svc", "server: "+server+"/"))
	f.argoCondition("again", "SharedResourceWarning", "of-argo")
	f.kubectl("delete", "application.argoproj.io/again", "-n", f.ns, "--timeout=60s")

	f.project("team", `sourceRepos: ["*"], destinations: [{name: test, namespace: "*"}]`)
	f.Apply(f.t, replace(f.t, toProd, "project: default", "project: team"))
	f.argoCondition("far", "InvalidSpecError", "application destination server '"+server+"'")
	f.project("team", `sourceRepos: ["*"], destinations: [{name: prod, namespace: "*"}]`)
	f.inSync("far")
	f.project("team", `sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}], permitOnlyProjectScopedClusters: true`)
	f.argoCondition("far", "InvalidSpecError", "application destination server '"+server+"'")
	f.Apply(f.t, f.clusterSecret("prod", "prod", server, ", project: team"))
	f.inSync("far")
	f.Apply(f.t, f.clusterSecret("prod", "prod", server, ", project: team, namespaces: others"))
	f.argoCondition("far", "SyncError", fmt.Sprintf("namespace %q is not managed in cluster %q", f.ns, "prod"))
	f.Apply(f.t, f.clusterSecret("prod", "prod", server, fmt.Sprintf(", project: team, namespaces: 'others, %s'", f.ns)))
	f.inSync("far")

	f.Apply(f.t, f.clusterSecret("second", "prod", server, ""))
	f.argoCondition("far", "InvalidSpecError", "several Secrets of namespace "+f.ns+" describe it, want one: prod, second")
	f.kubectl("delete", "secret/second", "-n", f.ns)
	f.inSync("far")

	// The cluster of the Application has another name, as some installations give it.
	f.Apply(f.t, f.clusterSecret("local", "local-cluster", "https://kubernetes.default.svc", ""))
	f.Apply(f.t, replace(f.t, f.applicationText("near", "argo", automated), "server: https://kubernetes.default.svc", "name: local-cluster"))
	f.await(f.Watch(f.t, configmaps, f.ns, "of-argo"), holds("argo"))
	f.inSync("near")

	// An Application goes with its objects, and waits for their cluster.
	f.kubectl("delete", "secret/prod", "-n", f.ns)
	f.argoCondition("far", "InvalidSpecError", "cluster prod: no Secret of namespace "+f.ns)
	f.kubectl("delete", "application.argoproj.io/far", "-n", f.ns, "--wait=false")
	f.argoCondition("far", "DeletionError", "cluster prod: no Secret of namespace "+f.ns)
	f.Apply(f.t, f.clusterSecret("prod", "prod", server, ", project: team"))
	f.kubectl("wait", "--for=delete", "application.argoproj.io/far", "-n", f.ns, "--timeout=60s")
	f.kubectl("delete", "application.argoproj.io/near", "-n", f.ns, "--timeout=60s")
	for _, c := range []*kubetest.Cluster{f.Cluster, f.there} {
		if got := strings.TrimSpace(c.Kubectl(f.t, "get", "configmap/of-argo", "-n", f.ns, "--ignore-not-found", "-o", "name")); got != "" {
			f.t.Errorf("left: %s", got)
		}
	}
}
