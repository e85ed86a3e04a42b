package web

import (
	"context"
	"errors"
	testclock "k8s.io/utils/clock/testing"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// accessOf is an Access whose own token is "own", and whose API server accepts "good".
func accessOf() *Access {
	return NewAccess("own", func(_ context.Context, token string) (bool, error) {
		if token == "broken" {
			return true, errors.New("no answer")
		}
		return token == "good", nil
	})
}

func TestThePagesWantAToken(t *testing.T) {
	h := accessOf().Guard(Handler(withMetrics()))
	for authorization, want := range map[string]int{
		"": http.StatusUnauthorized, "Bearer ": http.StatusUnauthorized, "Basic good": http.StatusUnauthorized, "good": http.StatusUnauthorized,
		"Bearer bad": http.StatusForbidden, "Bearer ow": http.StatusForbidden, "Bearer broken": http.StatusServiceUnavailable,
		"Bearer good": http.StatusOK, "Bearer own": http.StatusOK,
	} {
		for _, path := range append([]string{"//", "/nope", "/healthz/../journal"}, everything...) {
			w := ask(t, h, path, "truce.example", authorization)
			shown := strings.Contains(w.Body.String(), "flux-system")
			if want != http.StatusOK && (w.Code != want || shown) || want == http.StatusOK && w.Code >= http.StatusInternalServerError {
				t.Errorf("%q %s: %d, want %d: %s", authorization, path, w.Code, want, w.Body)
			}
		}
		if w := ask(t, h, "/", "truce.example", authorization); w.Code != want {
			t.Errorf("%q: %d, want %d: %s", authorization, w.Code, want, w.Body)
		}
	}
	for _, path := range open {
		if w := ask(t, h, path, "truce.example", ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestAControllerWithoutATokenOfItsOwnAcceptsNoEmptyOne(t *testing.T) {
	h := NewAccess("", func(context.Context, string) (bool, error) { return false, nil }).Guard(Handler(withMetrics()))
	for _, authorization := range []string{"", "Bearer ", "Bearer  "} {
		if w := ask(t, h, "/", "localhost", authorization); w.Code == http.StatusOK {
			t.Errorf("%q: %d", authorization, w.Code)
		}
	}
}

// browser keeps the cookies of one host.
type browser struct {
	t       *testing.T
	h       http.Handler
	host    string
	origin  string
	cookies []*http.Cookie
}

func (b *browser) get(path string) *httptest.ResponseRecorder { return b.ask(http.MethodGet, path) }

func (b *browser) ask(method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, nil)
	r.Host = b.host
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	if b.origin != "" {
		r.Header.Set("Origin", b.origin)
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	b.cookies = append(b.cookies, w.Result().Cookies()...) //nolint:bodyclose // a recorder's
	return w
}

func (b *browser) wants(path string, code int) {
	b.t.Helper()
	if w := b.get(path); w.Code != code {
		b.t.Errorf("%s%s: %d, want %d: %s", b.host, path, w.Code, code, w.Body)
	}
}

func TestALinkLogsInOneBrowser(t *testing.T) {
	a := accessOf()
	h := LocalOnly(a.Guard(Handler(withMetrics())))
	mine, theirs := &browser{t: t, h: h, host: "localhost:8080"}, &browser{t: t, h: h, host: "localhost:8080"}
	mine.wants("/", http.StatusUnauthorized)
	link := a.Login()
	if w := mine.ask(http.MethodHead, link); w.Code == http.StatusSeeOther || len(mine.cookies) > 0 {
		t.Errorf("HEAD opens a link: %d", w.Code)
	}
	mine.wants(link, http.StatusSeeOther)
	for _, path := range everything {
		mine.wants(path, http.StatusOK)
	}
	c := mine.cookies[0]
	if !c.HttpOnly || c.SameSite == http.SameSiteNoneMode || c.MaxAge != int(sessionLasts.Seconds()) {
		t.Errorf("a cookie that a script or another site may use: %+v", c)
	}
	theirs.wants(link, http.StatusForbidden)
	theirs.wants("/", http.StatusUnauthorized)
	mine.wants(link, http.StatusSeeOther) // the same browser may open it again
	theirs.wants(loginPath, http.StatusForbidden)
	theirs.wants(loginPath+"?code=", http.StatusForbidden)
	elsewhere := &browser{t: t, h: h, host: "localhost:9090", cookies: mine.cookies}
	elsewhere.wants("/", http.StatusUnauthorized) // the cookie is another port's, of another controller
}

func TestLoginsEnd(t *testing.T) {
	a := accessOf()
	now := testclock.NewFakePassiveClock(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	a.clock = now
	b := &browser{t: t, h: a.Guard(Handler(withMetrics())), host: "localhost"}
	late, link := a.Login(), a.Login()
	b.wants(link, http.StatusSeeOther)
	now.SetTime(now.Now().Add(linkLasts))
	(&browser{t: t, h: b.h, host: "localhost"}).wants(late, http.StatusForbidden)
	b.wants("/", http.StatusOK)
	now.SetTime(now.Now().Add(sessionLasts))
	b.wants("/", http.StatusUnauthorized)
}

func TestAPageOfAnotherSiteIsRefused(t *testing.T) {
	a := accessOf()
	b := &browser{t: t, h: a.Guard(Handler(withMetrics())), host: "localhost:8080"}
	b.wants(a.Login(), http.StatusSeeOther)
	for origin, want := range map[string]int{
		"http://localhost:8080": http.StatusOK, "https://evil.example": http.StatusForbidden, "http://localhost:9090": http.StatusForbidden,
		"null": http.StatusForbidden, "://": http.StatusForbidden,
	} {
		b.origin = origin
		b.wants("/", want)
	}
}

func TestTheBearerOfATokenGetsALink(t *testing.T) {
	a := accessOf()
	h := a.Guard(Handler(withMetrics()))
	for authorization, want := range map[string]int{"": http.StatusUnauthorized, "Bearer bad": http.StatusForbidden, "Bearer own": http.StatusCreated, "Bearer good": http.StatusCreated} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, loginPath, nil)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d: %s", authorization, w.Code, want, w.Body)
			continue
		}
		if want == http.StatusCreated {
			(&browser{t: t, h: h, host: "localhost"}).wants(strings.TrimSpace(w.Body.String()), http.StatusSeeOther)
		}
	}
}

func TestTheOldestLinksGoFirst(t *testing.T) {
	var g grantSet
	now := time.Now()
	for i := range mostGrants + 1 {
		g.add(strconv.Itoa(i), now.Add(time.Minute+time.Duration(i)))
	}
	if g.has("0", now) || !g.has("1", now) || !g.has(strconv.Itoa(mostGrants), now) || len(g.until) != mostGrants {
		t.Errorf("%d are kept", len(g.until))
	}
}
