package cluster

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestARequestThatIsNotAnsweredEnds, whether the answer does not begin or does not end; a watch goes on.
func TestARequestThatIsNotAnsweredEnds(t *testing.T) {
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/begun") {
			_, _ = io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
		}
		if r.URL.Path == "/answered" {
			return
		}
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(held)
	client := http.Client{Transport: patient{next: http.DefaultTransport, read: 50 * time.Millisecond, write: 50 * time.Millisecond}}
	ask := func(method, path string) error {
		q, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(q)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	for _, c := range []struct {
		method, path string
		ends         bool
	}{
		{"GET", "/answered", false},
		{"PATCH", "/answered", false},
		{"PATCH", "/silent", true},
		{"GET", "/silent", true},
		{"GET", "/begun", true},
		{"GET", "/silent?watch=true", true},
	} {
		err := ask(c.method, c.path)
		if c.ends != (err != nil) || c.ends && (!IsUnanswered(err) || !strings.Contains(err.Error(), "has not answered within 50ms")) {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
	}
	q, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/begun?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	if err := ask("GET", "/silent"); err == nil { // which takes longer than the watch may be silent
		t.Error("answered")
	}
	if _, err := io.ReadFull(watch.Body, make([]byte, len("begun"))); err != nil {
		t.Errorf("the watch: %v", err)
	}
}

// TestAWebPageIsNoAnswer of an API server, whatever its code: a 404 of a proxy must not read as the absence of an object.
func TestAWebPageIsNoAnswer(t *testing.T) {
	for _, code := range []int{200, 401, 403, 404, 410, 503} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<html>Basic c2VjcmV0</html>")
		}))
		c, err := NewClient(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Version(t.Context())
		var unreachable *UnreachableError
		if !errors.As(err, &unreachable) || !IsUnanswered(err) || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%d: %v", code, err)
		} else if !strings.Contains(unreachable.Advice(), "prox") {
			t.Errorf("%d: advice %q", code, unreachable.Advice())
		}
		server.Close()
	}
}
