package bucket

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/sigv4"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// storage is one that does not speak as S3 does.
type storage interface {
	// pageURL is that of a page of the list; next is empty for the first one.
	pageURL(prefix, next string) string
	parse(data []byte) (page, error)
	objectURL(o object) string
	// tag is the etag of an answer with an object, as the list has it; empty where that cannot be said.
	tag(header http.Header) string
	// authorize adds credentials to a request, and reports whether there are any.
	authorize(ctx context.Context, q *http.Request) (given bool, err error)
}

// google is the storage of Google Cloud, by its JSON API.
type google struct {
	clouds *cloud.Exchange
	spec   source.Spec
}

func (g google) base() string {
	return g.clouds.GoogleStorage() + "/storage/v1/b/" + url.PathEscape(g.spec.Bucket.Name) + "/o"
}

func (g google) pageURL(prefix, next string) string {
	parameters := map[string]string{"maxResults": "1000", "fields": "nextPageToken,items(name,etag,size,updated,generation)"}
	if prefix != "" {
		parameters["prefix"] = prefix
	}
	if next != "" {
		parameters["pageToken"] = next
	}
	return g.base() + "?" + sigv4.CanonicalQuery(parameters)
}

func (g google) objectURL(o object) string {
	parameters := map[string]string{"alt": "media"}
	if o.Version != "" {
		parameters["generation"] = o.Version
	}
	return g.base() + "/" + url.PathEscape(o.Key) + "?" + sigv4.CanonicalQuery(parameters)
}

func (google) tag(http.Header) string { return "" } // a generation is asked for

func (g google) authorize(ctx context.Context, q *http.Request) (bool, error) {
	var token string
	var err error
	if g.spec.Bucket.Login == provider.GoogleKey {
		token, err = g.clouds.GoogleKeyToken(ctx, g.spec.Auth.Password)
	} else {
		token, err = g.clouds.GoogleToken(ctx, g.spec.Auth.Cloud)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	return true, err
}

func (google) parse(data []byte) (page, error) { return parseGoogle(data) }

// parseGoogle reads a page of the JSON API.
func parseGoogle(data []byte) (page, error) {
	var document struct {
		Next  string `json:"nextPageToken"`
		Items []struct {
			Name, Etag, Generation, Size string
			Updated                      time.Time
		}
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return page{}, transport.Failed(source.BucketFailed, "the server's list is no document of the storage of Google Cloud")
	}
	out := page{next: document.Next}
	for _, i := range document.Items {
		size, err := strconv.ParseInt(i.Size, 10, 64)
		if err != nil || strings.Trim(i.Generation, "0123456789") != "" {
			return page{}, transport.Failed(source.BucketFailed, "the server's list has no size or generation of %.200q", i.Name)
		}
		out.objects = append(out.objects, object{Key: i.Name, ETag: i.Etag, Size: size, Modified: i.Updated, Version: i.Generation})
	}
	return out, nil
}

// blobVersion is that of the API of Azure's storage which is spoken.
const (
	blobVersion  = "2021-08-06"
	blobNotFound = "BlobNotFound" // the code for an object that is not there, in a bucket that may be read
)

// blob is a storage of Azure.
type blob struct {
	clouds *cloud.Exchange
	spec   source.Spec
	at     url.URL // with the parameters of a shared access signature
}

// azureEndpoint reads the endpoint of a storage of Azure.
func azureEndpoint(clouds *cloud.Exchange, spec source.Spec) (blob, error) {
	u, err := url.Parse(spec.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "":
		return blob{}, transport.Failed(source.BucketFailed, "the endpoint is no https:// URL of a storage of Azure")
	case !nameForm.MatchString(spec.Bucket.Name):
		return blob{}, transport.Failed(source.BucketFailed, "%.100q is no name of a bucket", spec.Bucket.Name)
	}
	query := u.Query()
	if spec.Bucket.Login == provider.SharedAccess {
		own, err := url.ParseQuery(strings.TrimPrefix(strings.TrimSpace(spec.Auth.Password), "?"))
		if err != nil {
			return blob{}, transport.Failed(source.AuthenticationFailed, "sasKey of Secret %s is no list of parameters", spec.Auth.Secret)
		}
		for name, values := range own {
			query[name] = values
		}
	}
	u.RawQuery, u.Path = query.Encode(), strings.TrimSuffix(u.Path, "/")+"/"+spec.Bucket.Name
	return blob{clouds, spec, *u}, nil
}

func (b blob) url(path string, parameters map[string]string) string {
	u, query := b.at, b.at.Query()
	for name, value := range parameters {
		query.Set(name, value)
	}
	u.Path += path
	u.RawPath, u.RawQuery = sigv4.EscapePath(u.Path), strings.ReplaceAll(query.Encode(), "+", "%20")
	return u.String()
}

func (b blob) pageURL(prefix, next string) string {
	parameters := map[string]string{"restype": "container", "comp": "list", "maxresults": "1000"}
	if prefix != "" {
		parameters["prefix"] = prefix
	}
	if next != "" {
		parameters["marker"] = next
	}
	return b.url("", parameters)
}

func (b blob) objectURL(o object) string { return b.url("/"+o.Key, nil) }

func (blob) tag(header http.Header) string { return blobTag(header.Get("ETag")) }

// blobTag is an etag as Flux has it in the revision.
func blobTag(text string) string { return hex.EncodeToString([]byte(trimETag(text))) }

func (blob) parse(data []byte) (page, error) { return parseBlobs(data) }

// parseBlobs reads a page of List Blobs.
func parseBlobs(data []byte) (page, error) {
	var document struct {
		XMLName xml.Name `xml:"EnumerationResults"`
		Next    string   `xml:"NextMarker"`
		Blobs   []struct {
			Name struct {
				Text    string `xml:",chardata"`
				Encoded bool   `xml:"Encoded,attr"`
			}
			Properties struct {
				Etag         string
				Modified     string `xml:"Last-Modified"`
				Size         int64  `xml:"Content-Length"`
				ResourceType string
			}
		} `xml:"Blobs>Blob"`
	}
	if err := xml.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &document); err != nil {
		return page{}, transport.Failed(source.BucketFailed, "the server's list is no document of a storage of Azure")
	}
	out := page{next: document.Next}
	for _, o := range document.Blobs {
		key, err := o.Name.Text, error(nil)
		if o.Name.Encoded {
			key, err = url.PathUnescape(key)
		}
		switch {
		case err != nil:
			return page{}, transport.Failed(source.BucketFailed, "the server's list has the malformed key %.200q", o.Name.Text)
		case o.Properties.ResourceType == "directory":
			continue
		}
		modified, _ := time.Parse(http.TimeFormat, o.Properties.Modified) // for display; the zero time otherwise
		out.objects = append(out.objects, object{Key: key, ETag: blobTag(o.Properties.Etag), Size: o.Properties.Size, Modified: modified})
	}
	return out, nil
}
