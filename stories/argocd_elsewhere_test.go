package stories

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAChartOfAnApplicationReadsWhatOtherServersHave: a chart that it depends on, with the credentials of a Secret of Argo CD, and a values file, without any.
func TestAChartOfAnApplicationReadsWhatOtherServersHave(t *testing.T) {
	charts := charttest.New(t)
	charts.Demand("robot", "hunter22")
	charts.Push("lib", "1.0.0", map[string]string{"templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-lib'}\ndata: {version: {{ .Chart.Version | quote }}}\n"})
	var asked, presented atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Store(true)
		if q.Header.Get("Authorization") != "" {
			presented.Store(true)
		}
		_, _ = fmt.Fprintf(w, "who: %s\n", q.URL.Query().Get("of"))
	}))
	t.Cleanup(web.Close)
	w := offArgoWorld(t, "-- web/Chart.yaml --\napiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: lib, version: 1.x, repository: \""+charts.URL()+"\"}\n"+
		"-- web/values.yaml --\nwho: chart\n-- web/templates/c.yaml --\n"+chartValue)
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: charts, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repo-creds}}
stringData: {type: helm, url: %[2]q, username: robot, password: hunter22}
`, w.ns, charts.Server.URL))
	w.argoSettings("helm.valuesFileSchemes", "https")
	options := compose.RunOptions{Settings: controller.Settings{Remotes: upstream.Hosts{Listed: []string{"http://127.0.0.1"}}}}
	stop := w.run(options)
	text := w.applicationText("web", "web", automated)
	w.Apply(t, strings.Replace(text, "targetRevision: main}", fmt.Sprintf("targetRevision: main, helm: {valueFiles: [%q]}}", web.URL+"/values.yaml?of=remote"), 1))
	w.argoCondition("web", "ComparisonError", `helm.valuesFileSchemes in ConfigMap argocd-cm allows only "https"`)
	if asked.Load() {
		t.Error("the server of the values was asked")
	}
	stop() // what argocd-cm says holds for a while

	w.argoSettings("helm.valuesFileSchemes", "https, http")
	w.run(options)
	t.Cleanup(w.removeApps) // while truce still runs
	w.inSync("web")
	w.await(w.Watch(t, configmaps, w.ns, "web"), func(o *unstructured.Unstructured) bool { return value(o, "who") == "remote" })
	w.await(w.Watch(t, configmaps, w.ns, "web-lib"), func(o *unstructured.Unstructured) bool { return value(o, "version") == "1.0.0" })
	if presented.Load() {
		t.Error("credentials were sent to the server of the values")
	}
}
