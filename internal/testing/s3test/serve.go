package s3test

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP answers reads.
func (s *Storage) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	isList := q.URL.Query().Has("list-type")
	text := q.Method + " " + q.URL.Path
	if isList {
		text += "?list"
	}
	s.requests = append(s.requests, text)
	stalled := s.stalled
	s.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, inBucket := strings.CutPrefix(q.URL.Path, "/"+Bucket)
	key = strings.TrimPrefix(key, "/")
	switch f := s.fault; {
	case f != nil && strings.HasSuffix(q.URL.Path, f.path) && f.cut == 0:
		w.WriteHeader(f.status)
		_, _ = w.Write([]byte(f.body)) // a client that went away
	case q.Method == http.MethodPost && q.URL.Path == "/":
		s.giveKeys(w, q)
	case !s.admits(w, q):
	case !inBucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	case isList:
		s.list(w, q.URL.Query())
	default:
		s.get(w, q, key)
	}
}

// admits checks the signature of a request.
func (s *Storage) admits(w http.ResponseWriter, q *http.Request) bool {
	if s.keys.access == "" {
		return true
	}
	code := SignatureFault(q, Keys{s.keys.access, s.keys.secret, s.keys.token}, "s3", s.region)
	if code == "AuthorizationHeaderMalformed" {
		w.Header().Set("X-Amz-Bucket-Region", s.region)
		refuse(w, http.StatusBadRequest, code, "the region is wrong")
		return false
	}
	if code != "" {
		refuse(w, http.StatusForbidden, code, "Access denied to "+q.Header.Get("Authorization"))
	}
	return code == ""
}

func (s *Storage) get(w http.ResponseWriter, q *http.Request, key string) {
	o, ok := s.objects[key]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	}
	w.Header().Set("ETag", strconv.Quote(o.etag))
	w.Header().Set("Last-Modified", o.made.Format(http.TimeFormat))
	if q.Header.Get("If-None-Match") == strconv.Quote(o.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(o.data)))
	data := o.data
	if f := s.fault; f != nil && strings.HasSuffix(q.URL.Path, f.path) && f.cut > 0 && f.cut < len(data) {
		data = data[:f.cut]
	}
	_, _ = w.Write(data) // a client that went away
}

type listed struct {
	Key, ETag, LastModified string
	Size                    int
}

func (s *Storage) list(w http.ResponseWriter, q url.Values) {
	var out struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		Name, Prefix          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		EncodingType          string `xml:",omitempty"`
		Contents              []listed
	}
	out.Name, out.Prefix, out.EncodingType = Bucket, q.Get("prefix"), q.Get("encoding-type")
	most := s.pageSize
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, q.Get("prefix")) || q.Get("continuation-token") != "" && key < q.Get("continuation-token") {
			continue
		}
		if len(out.Contents) == most {
			out.IsTruncated, out.NextContinuationToken = true, key
			break
		}
		o := s.objects[key]
		if out.EncodingType == "url" {
			key = url.QueryEscape(key)
		}
		out.Contents = append(out.Contents, listed{key, strconv.Quote(o.etag), o.made.Format(time.RFC3339), len(o.data)})
	}
	data, err := xml.Marshal(out)
	if err != nil {
		panic(err) // of a test's own objects
	}
	_, _ = w.Write(data) // a client that went away
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

// giveKeys answers AssumeRoleWithLDAPIdentity. The keys that were given before are not valid any more.
func (s *Storage) giveKeys(w http.ResponseWriter, q *http.Request) {
	if q.PostFormValue("Action") != "AssumeRoleWithLDAPIdentity" || q.PostFormValue("Version") != "2011-06-15" {
		refuse(w, http.StatusBadRequest, "InvalidAction", "want AssumeRoleWithLDAPIdentity of 2011-06-15")
		return
	}
	if user, password := q.PostFormValue("LDAPUsername"), q.PostFormValue("LDAPPassword"); s.user == "" || user != s.user || password != s.password {
		refuse(w, http.StatusForbidden, "AccessDenied", "LDAP refuses "+user+" with "+password)
		return
	}
	s.given++
	s.keys = keys{fmt.Sprintf("temporary-%d", s.given), fmt.Sprintf("temporary-secret-%d", s.given), fmt.Sprintf("session-%d", s.given)}
	fmt.Fprintf(w, `<AssumeRoleWithLDAPIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithLDAPIdentityResult><Credentials>`+
		`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
		`</Credentials></AssumeRoleWithLDAPIdentityResult></AssumeRoleWithLDAPIdentityResponse>`,
		s.keys.access, s.keys.secret, s.keys.token, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}
