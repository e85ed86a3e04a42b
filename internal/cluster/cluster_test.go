package cluster_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

var (
	deployments = object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}
	widgets     = object.GVK{Group: "cluster.example.org", Version: "v1", Kind: "Widget"}
)

func connect(t *testing.T) (*kubetest.Cluster, *cluster.Client) {
	t.Helper()
	k := kubetest.Start(t)
	c, err := cluster.Connect(cluster.Options{Target: cluster.Target{Kubeconfig: k.Kubeconfig}, UserAgent: "truce/test"})
	if err != nil {
		t.Fatal(err)
	}
	return k, c
}

func TestKindsAreFoundWhereTheyAreServed(t *testing.T) {
	_, c := connect(t)
	for gvk, want := range map[object.GVK]string{
		deployments:                               "deployments namespaced",
		{Version: "v1", Kind: "Namespace"}:        "namespaces",
		{Version: "v1", Kind: "Secret"}:           "secrets namespaced",
		{Version: "v1", Kind: "Deployment"}:       "unknown",
		{Group: "apps", Version: "v9", Kind: "X"}: "unknown",
		{Group: "apps", Version: "v1", Kind: ""}:  "unknown",
		{Group: "../x", Version: "v1", Kind: "X"}: "unknown",
		{Version: "..", Kind: "X"}:                "unknown",
	} {
		r, err := c.Resource(gvk)
		got := r.GVR.Resource
		switch {
		case errors.Is(err, live.ErrUnknownKind):
			got = "unknown"
		case err != nil:
			t.Errorf("%s: %v", gvk, err)
		case r.Namespaced:
			got += " namespaced"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", gvk, got, want)
		}
	}
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.cluster.example.org}
spec:
  group: cluster.example.org
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

func TestAKindThatIsAddedLaterIsFoundSoonAndAskedForSeldom(t *testing.T) {
	k, c := connect(t)
	discovered := func(e kubetest.Entry) bool { return e.Agent == "truce/test" && strings.Contains(e.Verb, "get") }
	before := len(k.Audit(t, discovered))
	for range 100 {
		if _, err := c.Resource(widgets); !errors.Is(err, live.ErrUnknownKind) {
			t.Fatal(err)
		}
	}
	if n := len(k.Audit(t, discovered)) - before; n > 2 {
		t.Errorf("asked %d times within a second", n)
	}
	k.Apply(t, crd)
	k.Established(t, "widgets.cluster.example.org")
	c.Invalidate("cluster.example.org/v1")
	if r, err := c.Resource(widgets); err != nil || r.Namespaced {
		t.Errorf("got %v, %v", r, err)
	}
	k.Kubectl(t, "delete", "crd", "widgets.cluster.example.org")
}

const brokenAPI = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.broken.example.org}
spec: {group: broken.example.org, version: v1, groupPriorityMinimum: 100, versionPriority: 10, service: {name: nobody, namespace: default}}
`

func TestABrokenGroupIsAnErrorAndNobodyElsesMatter(t *testing.T) {
	t.Parallel()
	k, c := connect(t)
	k.Apply(t, brokenAPI)
	defer k.Kubectl(t, "delete", "apiservice", "v1.broken.example.org")
	var err error
	deadline := time.Now().Add(time.Minute)
	for { // until the aggregator has taken it
		c.Invalidate("broken.example.org/v1")
		if _, err = c.Resource(object.GVK{Group: "broken.example.org", Version: "v1", Kind: "X"}); !errors.Is(err, live.ErrUnknownKind) || time.Now().After(deadline) {
			break
		}
	}
	if err == nil || errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("a broken API: %v", err)
	}
	if _, err := c.Resource(deployments); err != nil {
		t.Error(err)
	}
}

// stalling passes all to the API server but one path, which it never answers.
func stalling(t *testing.T, config *rest.Config, path string) *cluster.Client {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, path) {
			<-r.Context().Done()
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := cluster.NewClient(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAHangingGroupMakesNobodyElseWait(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t)
	c := stalling(t, k.Config(), "/apis/batch/")
	ended := make(chan error, 1)
	go func() {
		_, err := c.Resource(object.GVK{Group: "batch", Version: "v1", Kind: "Job"})
		ended <- err
	}()
	if _, err := c.Resource(deployments); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		t.Errorf("the other was answered only after the hanging group: %v", err)
	default:
	}
	if err := <-ended; err == nil || errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("the hanging group: %v", err)
	}
}

func TestAnEmptyIdentityIsRefused(t *testing.T) {
	k, c := connect(t)
	for _, user := range []string{"", "system:serviceaccount:shop:"} {
		if _, err := c.As(user, []string{"system:masters"}); err == nil {
			t.Errorf("%q was taken", user)
		}
	}
	config := k.Config()
	config.Impersonate.Groups = []string{"system:masters"}
	if _, err := cluster.NewClient(config); err == nil {
		t.Error("groups without a user were taken")
	}
}

func TestAnIdentityIsTheServersToo(t *testing.T) {
	_, c := connect(t)
	as, err := c.As("alice", []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	reviews := schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}
	ask := func(c *cluster.Client) string {
		u, err := c.Dynamic().Resource(reviews).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := unstructured.NestedString(u.Object, "status", "userInfo", "username")
		return name
	}
	if got := ask(as); got != "alice" {
		t.Errorf("acts as %q", got)
	}
	if got := ask(c); got == "alice" {
		t.Error("the first client has become somebody else")
	}
	if _, err := as.Resource(deployments); err != nil {
		t.Error(err)
	}
	if as.Config().Impersonate.UserName != "alice" || c.Config().Impersonate.UserName != "" {
		t.Error("the configurations are mixed up")
	}
}

func TestADeadServerIsAnErrorAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c, err := cluster.NewClient(&rest.Config{Host: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resource(deployments); err == nil || errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("got %v", err)
	}
}

func TestAKindIsFoundByEveryNameThatKubectlTakes(t *testing.T) {
	_, c := connect(t)
	for _, word := range []string{"deploy", "Deployment", "deployments", "deployment.apps", "deployments.v1.apps"} {
		if s, err := c.Find(t.Context(), word); err != nil || s.GVK != deployments || !s.Namespaced {
			t.Errorf("%s: %+v, %v", word, s, err)
		}
	}
	for word, want := range map[string]object.GVK{
		"cm": {Version: "v1", Kind: "ConfigMap"}, "no": {Version: "v1", Kind: "Node"}, "events.v1": {Version: "v1", Kind: "Event"},
		"events.events.k8s.io": {Group: "events.k8s.io", Version: "v1", Kind: "Event"}, "hpa": {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	} {
		if s, err := c.Find(t.Context(), word); err != nil || s.GVK != want {
			t.Errorf("%s: %+v, %v", word, s.GVK, err)
		}
	}
	for _, word := range []string{"", "nope", "deployments.v1.batch", "deployments/status", "pods.apps"} {
		if s, err := c.Find(t.Context(), word); !errors.Is(err, live.ErrUnknownKind) {
			t.Errorf("%q is taken for %v: %v", word, s.GVK, err)
		}
	}
}
