package kubetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Entry is one request that the API server has answered, in the server's own words.
type Entry struct {
	At time.Time // of the answer
	// Received is when the request came.
	Received time.Time
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// User is the one in whose name the request was carried out; an impersonated one if there is one.
	User string
	// Agent is the User-Agent header.
	Agent string
	// Manager is the fieldManager that the request named; empty when the server took it from Agent.
	Manager string

	// Path is the URL's, without what was asked of it.
	Path string

	Resource          schema.GroupResource
	Subresource       string
	Namespace, Name   string
	DryRun            bool
	Code              int             // of HTTP
	Request, Response json.RawMessage // nil where the audit policy leaves bodies out
}

// Writes reports whether the request may have changed something: a verb that writes, no dry run, not refused.
func (e Entry) Writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) && !e.DryRun && e.Code < 300
}

// Audit returns the requests that the server has answered so far and that keep says to keep, in the order of their
// ends. Every request that was answered before the call is in it.
func (c *Cluster) Audit(t *testing.T, keep func(Entry) bool) []Entry {
	t.Helper()
	return c.AuditIn(t, "", keep)
}

// AuditIn is Audit for the requests of one namespace; the empty one stands for all requests. Its cost does not grow with what other namespaces
// were asked for.
func (c *Cluster) AuditIn(t *testing.T, namespace string, keep func(Entry) bool) []Entry {
	t.Helper()
	fence := fmt.Sprintf("fence-%d", time.Now().UnixNano())
	if err := c.fence(t, fence); err != nil {
		t.Fatalf("audit: %v", err)
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		entries, fenced, err := c.audit.until(fence, namespace, keep)
		if err != nil {
			t.Fatalf("audit: %v", err)
		}
		if fenced {
			return entries
		}
		select {
		case <-look.C:
		case <-t.Context().Done():
			t.Fatal("audit: the server does not log the request that marks the end")
		}
	}
}

const fenceAgent = "kubetest-fence"

// fence deletes an object that does not exist. The server logs an answer just after it was sent; a request behind
// all others shows when the log has come so far.
func (c *Cluster) fence(t *testing.T, name string) error {
	config := c.Config()
	config.UserAgent = fenceAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	err = client.Resource(configMaps).Namespace(metav1.NamespaceDefault).Delete(t.Context(), name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// auditEvent is the part of audit.k8s.io/v1 Event that we read.
type auditEvent struct {
	Stage, RequestURI, Verb, UserAgent string
	User, ImpersonatedUser             struct{ Username string }
	ObjectRef                          struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus                     struct{ Code int }
	RequestObject, ResponseObject      json.RawMessage
	RequestReceivedTimestamp           time.Time
	StageTimestamp                     time.Time
}

// auditLog is the server's log as far as it was read: it grows long, and many tests ask it again and again.
type auditLog struct {
	path string

	mu      sync.Mutex
	offset  int64 // of the first line that was not read
	entries []Entry
	in      map[string][]int // the entries of each namespace, by their index
}

// until returns the entries of a namespace to keep up to the fence, and whether it has come. The empty namespace stands for all.
func (l *auditLog) until(fence, namespace string, keep func(Entry) bool) (kept []Entry, fenced bool, err error) {
	l.mu.Lock()
	err = l.read()
	entries, in := l.entries, l.in[namespace] // what follows is only ever added behind
	l.mu.Unlock()
	if err != nil {
		return nil, false, err
	}
	end := len(entries) - 1
	for end >= 0 && entries[end].Name != fence {
		end--
	}
	if end < 0 {
		return nil, false, nil
	}
	add := func(e Entry) {
		if e.Agent != fenceAgent && keep(e) {
			kept = append(kept, e)
		}
	}
	if namespace == "" {
		for _, e := range entries[:end] {
			add(e)
		}
		return kept, true, nil
	}
	for _, i := range in {
		if i < end {
			add(entries[i])
		}
	}
	return kept, true, nil
}

// read takes in the lines that were added. The caller holds mu.
func (l *auditLog) read() error {
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // io.EOF, perhaps within a line that the server is writing
			return nil
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read %s: %w", l.path, err)
		}
		l.offset += int64(len(line))
		answered := "ResponseComplete"
		if e.Verb == "watch" {
			answered = "ResponseStarted"
		}
		if e.Stage == answered {
			l.add(e.entry())
		}
	}
}

// add adds an entry. The caller holds mu.
func (l *auditLog) add(e Entry) {
	if l.in == nil {
		l.in = map[string][]int{}
	}
	l.in[e.Namespace] = append(l.in[e.Namespace], len(l.entries))
	l.entries = append(l.entries, e)
}

func (e auditEvent) entry() Entry {
	entry := Entry{
		At: e.StageTimestamp, Received: e.RequestReceivedTimestamp, Verb: e.Verb, User: e.User.Username, Agent: e.UserAgent,
		Resource:    schema.GroupResource{Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource},
		Subresource: e.ObjectRef.Subresource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Code: e.ResponseStatus.Code, Request: e.RequestObject, Response: e.ResponseObject,
	}
	if e.ImpersonatedUser.Username != "" {
		entry.User = e.ImpersonatedUser.Username
	}
	path, query, ok := strings.Cut(e.RequestURI, "?")
	entry.Path = path
	if ok {
		if values, err := url.ParseQuery(query); err == nil {
			entry.Manager, entry.DryRun = values.Get("fieldManager"), values.Has("dryRun")
		}
	}
	return entry
}
