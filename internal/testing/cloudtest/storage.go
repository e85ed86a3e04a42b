package cloudtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// AccountKey and Signature are credentials of a storage of Azure.
const (
	AccountKey = "a2V5LW9mLWFuLWFjY291bnQtb2YtYS10ZXN0"
	Signature  = "signature-of-a-shared-access"
)

// Storage is a storage of Azure or Google Cloud with one bucket, whose lists have two objects a page.
type Storage struct {
	// Bucket is its name.
	Bucket string

	clouds  *Clouds
	mu      sync.Mutex
	objects map[string]string
	version int64
	public  bool
}

// NewStorage makes a storage. Which one it is, is the handler that is served: Google or Blob.
func (c *Clouds) NewStorage(bucket string, objects map[string]string) *Storage {
	return &Storage{Bucket: bucket, clouds: c, objects: objects, version: 1}
}

// Put stores an object.
func (s *Storage) Put(key, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = content
	s.version++
}

// Publish allows anonymous reads.
func (s *Storage) Publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public = true
}

// page returns the keys of a page, and what continues the list.
func (s *Storage) page(prefix, next string) (keys []string, after string) {
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) && key > next {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > 2 {
		return keys[:2], keys[1]
	}
	return keys, ""
}

// TagOf is the etag of a content.
func TagOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf("0x%X", sum[:8])
}

// Google serves the JSON API.
func (s *Storage) Google() http.Handler { return http.HandlerFunc(s.serveGoogle) }

func (s *Storage) serveGoogle(w http.ResponseWriter, q *http.Request) {
	scope := s.clouds.Bearer(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	key, inBucket := strings.CutPrefix(q.URL.Path, "/storage/v1/b/"+s.Bucket+"/o")
	key = strings.TrimPrefix(key, "/")
	content, there := s.objects[key]
	parameters := q.URL.Query()
	switch {
	case !strings.HasPrefix(scope, "google: "):
		answer(w, http.StatusForbidden, map[string]any{"error": map[string]any{"code": 403, "message": "the caller does not have storage.objects.list access"}})
	case inBucket && key == "":
		keys, after := s.page(parameters.Get("prefix"), parameters.Get("pageToken"))
		items := []any{}
		for _, k := range keys {
			items = append(items, map[string]any{
				"name": k, "etag": TagOf(s.objects[k]), "size": strconv.Itoa(len(s.objects[k])), "generation": strconv.FormatInt(s.version, 10), "updated": "2026-01-02T03:04:05.678Z",
			})
		}
		answer(w, http.StatusOK, map[string]any{"items": items, "nextPageToken": after})
	case inBucket && there && parameters.Get("alt") == "media" && (!parameters.Has("generation") || parameters.Get("generation") == strconv.FormatInt(s.version, 10)):
		_, _ = w.Write([]byte(content)) // a client that went away
	default:
		answer(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": 404, "message": "No such object: " + key}})
	}
}

// Blob serves the API of Azure.
func (s *Storage) Blob() http.Handler { return http.HandlerFunc(s.serveBlob) }

func (s *Storage) serveBlob(w http.ResponseWriter, q *http.Request) {
	admitted := s.clouds.Bearer(q) == "https://storage.azure.com" || q.URL.Query().Get("sig") == Signature || isSharedKey(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	key, inContainer := strings.CutPrefix(q.URL.Path, "/"+s.Bucket)
	key = strings.TrimPrefix(key, "/")
	content, there := s.objects[key]
	switch {
	case !admitted && !s.public:
		refuseBlob(w, http.StatusForbidden, "AuthorizationFailure")
	case q.Header.Get("X-Ms-Version") == "":
		refuseBlob(w, http.StatusBadRequest, "MissingRequiredHeader")
	case !inContainer:
		refuseBlob(w, http.StatusNotFound, "ContainerNotFound")
	case key == "" && q.URL.Query().Get("comp") == "list" && q.URL.Query().Get("restype") == "container":
		s.listBlobs(w, q.URL.Query())
	case !there:
		refuseBlob(w, http.StatusNotFound, "BlobNotFound")
	default:
		w.Header().Set("ETag", strconv.Quote(TagOf(content)))
		_, _ = w.Write([]byte(content)) // a client that went away
	}
}

func (s *Storage) listBlobs(w http.ResponseWriter, parameters url.Values) {
	keys, after := s.page(parameters.Get("prefix"), parameters.Get("marker"))
	var out strings.Builder
	out.WriteString("\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"https://acme.blob.core.windows.net/\"><Blobs>")
	out.WriteString("<Blob><Name>folder</Name><Properties><Etag>0x1</Etag><Content-Length>0</Content-Length><ResourceType>directory</ResourceType></Properties></Blob>")
	for _, k := range keys {
		out.WriteString("<Blob><Name>")
		_ = xml.EscapeText(&out, []byte(k)) // a builder takes all
		fmt.Fprintf(&out, "</Name><Properties><Last-Modified>%s</Last-Modified><Etag>%s</Etag><Content-Length>%d</Content-Length></Properties></Blob>",
			time.Now().UTC().Format(http.TimeFormat), TagOf(s.objects[k]), len(s.objects[k]))
	}
	fmt.Fprintf(&out, "</Blobs><NextMarker>%s</NextMarker></EnumerationResults>", after)
	_, _ = w.Write([]byte(out.String())) // a client that went away
}

func refuseBlob(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>This request is not authorized to perform this operation.</Message></Error>", code)
}

// isSharedKey checks the signature of a GET request by the key of the account acme, as the page "Authorize with Shared Key" of Azure computes it.
func isSharedKey(q *http.Request) bool {
	key, err := base64.StdEncoding.DecodeString(AccountKey)
	given, ok := strings.CutPrefix(q.Header.Get("Authorization"), "SharedKey acme:")
	if err != nil || !ok {
		return false
	}
	path, _, _ := strings.Cut(q.RequestURI, "?")
	text := "GET\n\n\n\n\n\n\n\n\n" + q.Header.Get("If-None-Match") + "\n\n\nx-ms-date:" + q.Header.Get("X-Ms-Date") + "\nx-ms-version:" + q.Header.Get("X-Ms-Version") + "\n/acme" + path
	for _, name := range slices.Sorted(maps.Keys(q.URL.Query())) {
		text += "\n" + name + ":" + q.URL.Query().Get(name)
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(sum.Sum(nil)) == given
}
