package bucket

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

func TestABucketHasAnAddress(t *testing.T) {
	for _, c := range []struct{ endpoint, name, region, want, at string }{
		{"https://minio.example:9000", "files", "", "https://minio.example:9000/files/k", ""},
		{"http://127.0.0.1:9000", "files", "eu-x", "http://127.0.0.1:9000/files/k", "eu-x"},
		{"https://s3.amazonaws.com", "files", "", "https://files.s3.amazonaws.com/k", ""},
		{"https://s3.amazonaws.com", "files", "us-east-1", "https://files.s3.amazonaws.com/k", "us-east-1"},
		{"https://s3.amazonaws.com", "files", "eu-west-1", "https://files.s3.eu-west-1.amazonaws.com/k", "eu-west-1"},
		{"https://s3.eu-west-1.amazonaws.com", "files", "", "https://files.s3.eu-west-1.amazonaws.com/k", "eu-west-1"},
		{"https://s3.dualstack.us-gov-west-1.amazonaws.com", "files", "", "https://files.s3.dualstack.us-gov-west-1.amazonaws.com/k", "us-gov-west-1"},
		{"https://s3.cn-north-1.amazonaws.com.cn", "files", "", "https://files.s3.cn-north-1.amazonaws.com.cn/k", "cn-north-1"},
		{"https://s3.amazonaws.com", "www.example.org", "", "https://s3.amazonaws.com/www.example.org/k", ""},
		{"https://s3.amazonaws.com.evil.example", "files", "", "https://s3.amazonaws.com.evil.example/files/k", ""},
	} {
		a, err := addressOf(source.Spec{URL: c.endpoint, Bucket: source.Bucket{Name: c.name, Region: c.region}})
		if err != nil || a.url("k", "").String() != c.want || a.region != c.at {
			t.Errorf("%s %s %s: %s in %q, %v, want %s in %q", c.endpoint, c.name, c.region, a.url("k", ""), a.region, err, c.want, c.at)
		}
	}
	a, err := addressOf(source.Spec{URL: "https://s3.amazonaws.com", Bucket: source.Bucket{Name: "files"}})
	if got := a.in("eu-west-1").url("", "x=").String(); err != nil || got != "https://files.s3.eu-west-1.amazonaws.com/?x=" {
		t.Errorf("in another region: %s, %v", got, err)
	}
	for _, endpoint := range []string{"", "minio", "ftp://minio", "https://", "https://me:password@minio", "https://minio/path", "https://minio?x=1", "https://minio#x", "https://:9000"} {
		if a, err := addressOf(source.Spec{URL: endpoint, Bucket: source.Bucket{Name: "files"}}); err == nil || strings.Contains(err.Error(), "password") {
			t.Errorf("%q: %+v, %v", endpoint, a, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "a?b", "a b", "../../x"} {
		if _, err := addressOf(source.Spec{URL: "https://minio", Bucket: source.Bucket{Name: name}}); err == nil {
			t.Errorf("%q is taken for a bucket", name)
		}
	}
}

func TestAKeyIsAPathOrRefused(t *testing.T) {
	for _, key := range []string{"a", "a/b.yaml", ".a", "a b/ü", "a..b", "..."} {
		if !isFilePath(key) {
			t.Errorf("%q is refused", key)
		}
	}
	for _, key := range []string{"", ".", "..", "../a", "a/../b", "/a", "a//b", "./a", "a/.", "a\x00b", "a\nb", `a\b`, `..\a`, "a\xff"} {
		if isFilePath(key) {
			t.Errorf("%q is taken", key)
		}
	}
	limits := source.Limits{Files: 2, Bytes: 10, PathLength: 50}
	ok := object{Key: "a", ETag: "1", Size: 4}
	if err := checkObjects([]object{ok, {Key: "b/c", ETag: "1", Size: 6}}, limits); err != nil {
		t.Error(err)
	}
	for what, list := range map[string][]object{
		"twice":          {ok, ok},
		"both":           {ok, {Key: "a/b", ETag: "1"}},
		"far below":      {ok, {Key: "a/b/c", ETag: "1"}},
		"no etag":        {{Key: "b"}},
		"a line":         {{Key: "b", ETag: "1\nc 2"}},
		"negative":       {{Key: "b", ETag: "1", Size: -1}},
		"too large":      {ok, {Key: "b", ETag: "1", Size: 7}},
		"overflow":       {ok, {Key: "b", ETag: "1", Size: 1<<63 - 1}},
		"too many":       {{Key: "a", ETag: "1"}, {Key: "b", ETag: "1"}, {Key: "c", ETag: "1"}},
		"too long":       {{Key: strings.Repeat("a", 51), ETag: "1"}},
		"leads outside":  {{Key: "../a", ETag: "1"}},
		"directories":    {{Key: strings.Repeat("d/", listFactor*2+1) + "a", ETag: "1"}},
		"a directory is": {{Key: "a", ETag: "1"}, {Key: "a-", ETag: "1"}, {Key: "a/b", ETag: "1"}},
	} {
		if err := checkObjects(list, limits); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
}

// longKeys is a storage whose list has no end.
type longKeys struct {
	blob

	url   string
	pages int
}

func (l *longKeys) pageURL(string, string) string { return l.url }

func (l *longKeys) authorize(context.Context, *http.Request) (bool, error) { return false, nil }

func (l *longKeys) parse([]byte) (page, error) {
	l.pages++
	return page{objects: []object{{Key: strings.Repeat("k", 7<<20), ETag: "1"}}, next: strconv.Itoa(l.pages)}, nil
}

// A list may have many objects, and each a long key: all of it is in memory.
func TestTheKeysOfABucketAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	l := &longKeys{url: server.URL}
	_, err := (&client{http: server.Client(), other: l}).list(t.Context(), "", 1_000_000)
	if err == nil || !strings.Contains(err.Error(), "spec.prefix") || l.pages > 10 {
		t.Errorf("after %d pages: %v", l.pages, err)
	}
}

func FuzzList(f *testing.F) {
	f.Add([]byte(`<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken><EncodingType>url</EncodingType><Contents><Key>a%2Fb+c</Key><ETag>"1"</ETag><Size>3</Size></Contents></ListBucketResult>`))
	f.Add([]byte(`<ListBucketResult><Contents><Key>../a</Key><ETag>1</ETag></Contents></ListBucketResult>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePage(data)
		if err != nil || checkObjects(p.objects, source.Limits{}.OrDefault()) != nil {
			return
		}
		for _, o := range p.objects {
			if o.Key == "" || strings.Contains("/"+o.Key+"/", "/../") || strings.HasPrefix(o.Key, "/") {
				t.Errorf("%q is taken for a file", o.Key)
			}
		}
	})
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte(`<AssumeRoleWithLDAPIdentityResponse><AssumeRoleWithLDAPIdentityResult><Credentials><AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2026-01-02T03:04:05Z</Expiration></Credentials></AssumeRoleWithLDAPIdentityResult></AssumeRoleWithLDAPIdentityResponse>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := parseTokens(data)
		if err == nil && (c.Key == "" || c.Secret == "" || strings.ContainsAny(c.Key+c.Token, "\r\n")) {
			t.Errorf("%+v", c)
		}
	})
}
