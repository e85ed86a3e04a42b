package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"k8s.io/utils/clock"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Review reports whether the bearer of a token may see the pages. It may be called concurrently.
type Review func(ctx context.Context, token string) (allowed bool, err error)

// AccessPath is the non-resource URL that a user must be allowed to get whose token Review allows.
const AccessPath = "/truce"

// open are the paths that need no login: they hold no value of a field.
var open = []string{"/healthz", "/readyz", "/metrics"}

const (
	// reviews is how many requests are reviewed at once; others wait, so that guesses do not flood the API server.
	reviews = 4
	// sessionLasts is how long a browser stays logged in.
	sessionLasts = 12 * time.Hour
	// linkLasts is how long a link of Login may be opened.
	linkLasts = time.Hour
	// mostGrants bounds the sessions and the links that are kept of each; the oldest go first.
	mostGrants = 1000
	loginPath  = "/login"
)

// Access decides who sees the pages: the bearer of the controller's own token or of one that the API server accepts, and a browser that has
// opened a link of Login. It may be used concurrently.
type Access struct {
	token  string
	review Review
	slots  chan struct{}
	clock  clock.PassiveClock

	mu       sync.Mutex
	links    grantSet
	sessions grantSet
}

// NewAccess returns an Access for the controller's own token, empty for none, and for those that review allows.
func NewAccess(token string, review Review) *Access {
	return &Access{token: token, review: review, slots: make(chan struct{}, reviews), clock: clock.RealClock{}}
}

// Login returns a path that logs in the first browser that opens it, within an hour.
func (a *Access) Login() string {
	code := rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.links.add(code, a.clock.Now().Add(linkLasts))
	return loginPath + "?code=" + code
}

// Guard serves the probes and the metrics to all, and everything else to those who have access.
func (a *Access) Guard(next http.Handler) http.Handler {
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case slices.Contains(open, r.URL.Path):
			next.ServeHTTP(w, r)
		case isForeign(r):
			writeText(w, http.StatusForbidden, "a page of "+r.Header.Get("Origin")+" may not ask this one")
		case r.URL.Path == loginPath && r.Method == http.MethodGet:
			a.enter(w, r)
		case a.logged(r):
			next.ServeHTTP(w, r)
		default:
			a.asBearer(next, w, r)
		}
	}))
}

// enter logs in a browser by a link. A browser that is logged in may open an old link again.
func (a *Access) enter(w http.ResponseWriter, r *http.Request) {
	session := rand.Text()
	if !a.logged(r) {
		if !a.redeem(r.URL.Query().Get("code"), session) {
			writeText(w, http.StatusForbidden, "this link was opened before, or is older than an hour: `truce dashboard` prints a new one")
			return
		}
		http.SetCookie(w, &http.Cookie{
			Name: cookieOf(r), Value: session, Path: "/", MaxAge: int(sessionLasts.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
		})
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// redeem turns a link's code into a session.
func (a *Access) redeem(code, session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.links.has(code, a.clock.Now()) {
		return false
	}
	a.links.drop(code)
	a.sessions.add(session, a.clock.Now().Add(sessionLasts))
	return true
}

func (a *Access) logged(r *http.Request) bool {
	c, err := r.Cookie(cookieOf(r))
	if err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions.has(c.Value, a.clock.Now())
}

// cookieOf is the cookie's name. Browsers send a cookie to every port of a host: two controllers on one machine must not take each other's.
func cookieOf(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "truce_session_" + port
	}
	return "truce_session"
}

// asBearer serves who bears a token.
func (a *Access) asBearer(next http.Handler, w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeText(w, http.StatusUnauthorized, "log in: `truce dashboard` prints a link for a browser; programs send a bearer token of the cluster (docs/page.md)")
		return
	}
	if allowed, code, why := a.allows(r.Context(), token); !allowed {
		writeText(w, code, why)
		return
	}
	if r.URL.Path == loginPath && r.Method == http.MethodPost {
		writeText(w, http.StatusCreated, a.Login())
		return
	}
	next.ServeHTTP(w, r)
}

// allows judges a token; code and why answer one that is not allowed.
func (a *Access) allows(ctx context.Context, token string) (allowed bool, code int, why string) {
	if a.token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(a.token)) == 1 {
		return true, 0, ""
	}
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return false, http.StatusServiceUnavailable, ctx.Err().Error()
	}
	allowed, err := a.review(ctx, token)
	switch {
	case err != nil:
		return false, http.StatusServiceUnavailable, "the API server did not review the token: " + err.Error()
	case !allowed:
		return false, http.StatusForbidden, "the token is not valid, or its user may not get the URL " + AccessPath + " (ClusterRole truce-page)"
	}
	return true, 0, ""
}

// grantSet are secrets that end at a time. Only their hashes are kept: a lookup takes as long whatever part of a guess is right.
type grantSet struct {
	until map[[sha256.Size]byte]time.Time
}

func (g *grantSet) add(secret string, until time.Time) {
	if g.until == nil {
		g.until = map[[sha256.Size]byte]time.Time{}
	}
	for len(g.until) >= mostGrants {
		g.dropOldest()
	}
	g.until[sha256.Sum256([]byte(secret))] = until
}

func (g *grantSet) has(secret string, now time.Time) bool {
	until, ok := g.until[sha256.Sum256([]byte(secret))]
	return ok && now.Before(until)
}

func (g *grantSet) drop(secret string) { delete(g.until, sha256.Sum256([]byte(secret))) }

func (g *grantSet) dropOldest() {
	var oldest [sha256.Size]byte
	var first time.Time
	for k, until := range g.until {
		if first.IsZero() || until.Before(first) {
			oldest, first = k, until
		}
	}
	delete(g.until, oldest)
}
