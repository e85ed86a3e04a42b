package stories

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// tokenGate is before the API server of another cluster, and lets in those whose tokens it knows: it passes their requests on in their names.
type tokenGate struct {
	*httptest.Server
	f      farWorld
	knows  tokenReviewer
	onward *httputil.ReverseProxy

	mu       sync.Mutex
	users    map[string]string // by token
	rejected int
	tokens   map[string]bool // those that were let in
}

// tokenReviewer says whose token it is; empty for one that is not valid.
type tokenReviewer interface {
	userOf(ctx context.Context, token string) string
}

// accountTokens are those of the service accounts of a cluster, for an audience, which that cluster reviews.
type accountTokens struct {
	w        *world
	audience string
}

func (a accountTokens) userOf(ctx context.Context, token string) string {
	answer, err := a.w.dynamic().Resource(schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "tokenreviews"}).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": map[string]any{"token": token, "audiences": []any{a.audience}},
	}}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	user, _, _ := unstructured.NestedString(answer.Object, "status", "user", "username")
	return user
}

// openGate starts a gate, which the story closes.
func openGate(f farWorld, knows tokenReviewer) *tokenGate {
	f.t.Helper()
	config := f.there.Config()
	to, err := url.Parse(config.Host)
	if err != nil {
		f.t.Fatal(err)
	}
	onward := httputil.NewSingleHostReverseProxy(to)
	if onward.Transport, err = rest.TransportFor(config); err != nil {
		f.t.Fatal(err)
	}
	onward.FlushInterval = -1
	g := &tokenGate{f: f, knows: knows, onward: onward, users: map[string]string{}, tokens: map[string]bool{}}
	g.Server = httptest.NewTLSServer(g)
	return g
}

// ServeHTTP implements http.Handler.
func (g *tokenGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	user := g.user(r, token)
	if user == "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)
		return
	}
	r.Header.Del("Authorization")
	r.Header.Set("Impersonate-User", user)
	r.Header.Set("Impersonate-Group", "system:authenticated")
	g.onward.ServeHTTP(w, r)
}

// user returns whose token it is; empty for one that is not valid here.
func (g *tokenGate) user(r *http.Request, token string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch user := g.users[token]; user {
	case "":
	case revoked:
		g.rejected++
		return ""
	default:
		return user
	}
	user := g.knows.userOf(r.Context(), token)
	if user == "" {
		g.rejected++
		return ""
	}
	g.users[token], g.tokens[token] = user, true
	return user
}

// revoke lets no token in any more that was let in before.
func (g *tokenGate) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for token := range g.users {
		g.users[token] = revoked
	}
}

const revoked = "revoked"

// counts returns how many tokens were let in, and how many requests were not.
func (g *tokenGate) counts() (tokens, rejected int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.tokens), g.rejected
}

// reference is the ConfigMap that leads to the gate.
func (g *tokenGate) reference(more string) string { return g.referenceOf("generic", more) }

func (g *tokenGate) referenceOf(provider, more string) string {
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw}))
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: gate, namespace: %s}, data: {provider: %s, address: %q, ca.crt: %q%s}}", g.f.ns, provider, g.URL, ca, more)
}

func (g *tokenGate) close() {
	g.CloseClientConnections()
	g.Close()
}

// tokensOfAccounts is the scene of an app whose ConfigMap names a server that takes tokens of this cluster's service accounts.
func tokensOfAccounts(f farWorld) {
	g := openGate(f, accountTokens{f.world, "the-other-cluster"})
	defer g.close()
	f.Apply(f.t, g.reference(""))
	f.Apply(f.t, f.manifest("by-token", "./tenant", "interval: 1h\nretryInterval: 1s\nkubeConfig: {configMapRef: {name: gate}}"))
	if os.Getenv(accountVariable) == "" { // what is installed has an account, of which a token is not let in
		f.fails("by-token", "it works as another user; name a service account of the app's namespace")
	}
	f.Apply(f.t, g.reference(", serviceAccountName: pusher"))
	f.fails("by-token", "no token of ServiceAccount "+f.ns+"/pusher: it is not there")
	f.kubectl("create", "serviceaccount", "pusher")
	f.fails("by-token", "rejects the credentials") // the audience is the address
	f.there.Kubectl(f.t, "create", "clusterrolebinding", "pusher-"+f.ns, "--clusterrole=cluster-admin", "--user="+f.user("pusher"))
	f.Apply(f.t, g.reference(", serviceAccountName: pusher, audiences: \"other\\nthe-other-cluster\\n\""))
	f.ready("by-token")
	if got := f.writers("of-tenant"); !got[f.user("pusher")] {
		f.t.Errorf("the object was written by %v", got)
	}
	f.renewed(g, "by-token", "k: there", "k: there, more: token")
	f.kubectl("delete", "kustomization/by-token")
}

// renewed has the gate reject what it let in before: another token is asked for.
func (f farWorld) renewed(g *tokenGate, name, now, next string) {
	before, _ := g.counts()
	g.revoke()
	f.edit("tenant/cm.yaml", now, next)
	f.ready(name)
	if after, _ := g.counts(); after <= before {
		f.t.Errorf("%d tokens were let in before they were revoked, and %d after", before, after)
	}
	asked := f.Audit(f.t, func(e kubetest.Entry) bool {
		return f.byTruce(e) && e.Resource.Resource == "serviceaccounts" && e.Verb == "create"
	})
	if len(asked) == 0 || len(asked) > 20 {
		f.t.Errorf("%d tokens were asked for", len(asked))
	}
}

var _ http.Handler = (*tokenGate)(nil)

func TestTheGateLetsNoOneElseIn(t *testing.T) {
	t.Parallel()
	f := farWorld{world: &world{Cluster: kubetest.Start(t), t: t, ctx: t.Context()}}
	g := &tokenGate{f: f, knows: accountTokens{f.world, "the-other-cluster"}, users: map[string]string{}}
	if user := g.user(httptest.NewRequest(http.MethodGet, "/", nil), "made-up"); user != "" || g.rejected != 1 {
		t.Errorf("a made-up token is let in as %q", user)
	}
}

// TestNoTokenOfTrucesOwnIsOneForThisCluster: who writes a ConfigMap chooses the address and the audiences, and does not get truce's rights in this cluster by that.
func TestNoTokenOfTrucesOwnIsOneForThisCluster(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	w.kubectl("create", "serviceaccount", "truce")
	w.kubectl("create", "clusterrolebinding", w.ns+"-truce", "--clusterrole=cluster-admin", "--serviceaccount="+w.ns+":truce")
	w.later(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}, "", w.ns+"-truce")
	w.account = w.user("truce")
	sent := make(chan string, 100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
			sent <- token
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	g := &tokenGate{Server: server, f: farWorld{world: w}}
	w.Apply(t, g.reference(fmt.Sprintf(", audiences: %q", strings.Join(audiences(t, w.kubectl("create", "token", "truce")), "\n"))))
	w.start(policy.Policy{})
	w.app("app", "./app", "interval: 1h\nretryInterval: 1s\nkubeConfig: {configMapRef: {name: gate}}")
	w.fails("app", "with these audiences it would be a credential for this cluster; choose others")
	if len(sent) > 0 {
		t.Error("a token was sent that this cluster takes")
	}

	// With other audiences the server gets a token, which is none for this cluster.
	w.Apply(t, g.reference(`, audiences: "the-other-cluster"`))
	w.fails("app", "rejects the credentials")
	if got := audiences(t, <-sent); len(got) != 1 || got[0] != "the-other-cluster" {
		t.Errorf("a token for %q was sent", got)
	}
}

// audiences are those that a token is for.
func audiences(t *testing.T, token string) []string {
	t.Helper()
	var claims struct {
		Audiences []string `json:"aud"`
	}
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		t.Fatal("this is no token of a service account")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims.Audiences
}
