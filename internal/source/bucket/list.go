package bucket

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/exclude"
	"github.com/truce-gitops/truce/internal/source/sigv4"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// The bounds of lists.
const (
	listFactor = 10       // listed objects, before the ignore rules, and directories, for each file that an artifact may have
	mostPages  = 10_000   // of one list
	mostOfPage = 8 << 20  // bytes
	mostKeys   = 64 << 20 // bytes of the keys and etags of one list
)

var codeForm = regexp.MustCompile(`^[A-Za-z0-9.]+$`)

// longestCode bounds what a server may have said of itself.
const longestCode = 64

// object is one entry of a list.
type object struct {
	Key      string
	ETag     string // without quotes
	Size     int64
	Modified time.Time
	Version  string // that is asked for, at Google Cloud; empty for the newest
}

// page is one answer of ListObjectsV2.
type page struct {
	objects []object
	next    string // continues the list; empty at its end
}

// list returns the objects whose keys have a prefix, sorted by key. A key that is no path of a file is an error.
func (c *client) list(ctx context.Context, prefix string, most int) ([]object, error) {
	var out []object
	next, bytes := "", 0
	for range mostPages {
		p, err := c.page(ctx, prefix, next)
		if err != nil {
			return nil, err
		}
		for _, o := range p.objects {
			bytes += len(o.Key) + len(o.ETag)
		}
		out = append(out, p.objects...)
		switch {
		case bytes > mostKeys:
			return nil, transport.Failed(source.LimitExceeded, "the bucket lists more than %d bytes of keys and etags; narrow it with spec.prefix", mostKeys)
		case len(out) > most:
			return nil, transport.Failed(source.LimitExceeded, "the bucket lists more than %d objects; narrow it with spec.prefix", most)
		case p.next == "":
			slices.SortFunc(out, func(a, b object) int { return cmp.Compare(a.Key, b.Key) })
			return out, nil
		case p.next == next:
			return nil, transport.Failed(source.BucketFailed, "the server's list does not end")
		}
		next = p.next
	}
	return nil, transport.Failed(source.BucketFailed, "the server's list has more than %d pages", mostPages)
}

func (c *client) page(ctx context.Context, prefix, next string) (page, error) {
	answer, err := c.askPage(ctx, prefix, next)
	if err != nil {
		return page{}, err
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostOfPage+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return page{}, err
	}
	switch {
	case len(data) > mostOfPage:
		return page{}, transport.Failed(source.LimitExceeded, "a page of the server's list has more than %d bytes", mostOfPage)
	case c.other != nil:
		return c.other.parse(data)
	}
	return parsePage(data)
}

func (c *client) askPage(ctx context.Context, prefix, next string) (*http.Response, error) {
	if c.other != nil {
		return c.get(ctx, c.other.pageURL(prefix, next), nil)
	}
	parameters := map[string]string{"list-type": "2", "max-keys": "1000", "encoding-type": "url", "prefix": prefix}
	if next != "" {
		parameters["continuation-token"] = next
	}
	return c.find(ctx, sigv4.CanonicalQuery(parameters))
}

// parsePage reads the document of a page.
func parsePage(data []byte) (page, error) {
	var document struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		EncodingType          string
		Contents              []struct {
			Key, ETag, LastModified string
			Size                    int64
		}
	}
	if err := xml.Unmarshal(data, &document); err != nil {
		return page{}, transport.Failed(source.BucketFailed, "the server's list is no document of ListObjectsV2")
	}
	if document.IsTruncated && document.NextContinuationToken == "" {
		return page{}, transport.Failed(source.BucketFailed, "the server does not continue its list: it does not serve ListObjectsV2")
	}
	out := page{}
	if document.IsTruncated {
		out.next = document.NextContinuationToken
	}
	for _, c := range document.Contents {
		key, err := c.Key, error(nil)
		if document.EncodingType == "url" {
			key, err = url.QueryUnescape(c.Key)
		}
		if err != nil {
			return page{}, transport.Failed(source.BucketFailed, "the server's list has the malformed key %.200q", c.Key)
		}
		modified, _ := time.Parse(time.RFC3339, c.LastModified) // for display; the zero time otherwise
		out.objects = append(out.objects, object{Key: key, ETag: trimETag(c.ETag), Size: c.Size, Modified: modified})
	}
	return out, nil
}

func trimETag(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
}

// checkObjects refuses what cannot be the files of an artifact: a key that leads elsewhere, that two objects have, or that is a file and a directory
// at once, and more than the limits allow.
func checkObjects(sorted []object, limits source.Limits) error {
	files, folders := map[string]bool{}, map[string]bool{}
	total := int64(0)
	for _, o := range sorted {
		switch {
		case !isFilePath(o.Key):
			return transport.Failed(source.PathEscape, "the key %.200q is no path of a file", o.Key)
		case len(o.Key) > limits.PathLength:
			return transport.Failed(source.LimitExceeded, "a key is longer than %d bytes: %.100q…", limits.PathLength, o.Key)
		case files[o.Key]:
			return transport.Failed(source.PathEscape, "the key %.200q is listed twice", o.Key)
		case o.ETag == "" || strings.ContainsFunc(o.ETag, isNoText):
			return transport.Failed(source.BucketFailed, "the server lists no etag of %.200q", o.Key)
		case o.Size < 0 || o.Size > limits.Bytes-total:
			return transport.Failed(source.LimitExceeded, "the objects have more than %d bytes", limits.Bytes)
		case len(files) == limits.Files:
			return transport.Failed(source.LimitExceeded, "there are more than %d objects", limits.Files)
		}
		files[o.Key] = true
		total += o.Size
		for i := strings.LastIndexByte(o.Key, '/'); i > 0 && !folders[o.Key[:i]]; i = strings.LastIndexByte(o.Key[:i], '/') {
			folders[o.Key[:i]] = true
		}
		if len(folders) > listFactor*limits.Files {
			return transport.Failed(source.LimitExceeded, "there are more than %d directories", listFactor*limits.Files)
		}
	}
	for _, o := range sorted {
		if folders[o.Key] {
			return transport.Failed(source.PathEscape, "the key %.200q is both a file and a directory", o.Key)
		}
	}
	return nil
}

// isFilePath reports whether a key names a file as it is: without steps that lead elsewhere, and without characters that other systems take for a
// separator or for the end of a line.
func isFilePath(key string) bool {
	return fs.ValidPath(key) && key != "." && !strings.ContainsFunc(key, isNoText) && !strings.ContainsRune(key, '\\')
}

func isNoText(r rune) bool { return unicode.IsControl(r) }

// ignoreFile is the object .sourceignore.
type ignoreFile struct {
	there bool
	etag  string
	lines string
}

// readIgnoreFile reads .sourceignore, which lies at the root whatever the prefix, unless it is the one that was read before.
func (b *bucket) readIgnoreFile(ctx context.Context, all []object) error {
	listed := strings.HasPrefix(exclude.IgnoreFile, b.spec.Bucket.Prefix)
	i := slices.IndexFunc(all, func(o object) bool { return o.Key == exclude.IgnoreFile })
	switch {
	case listed && i < 0:
		b.ignore = ignoreFile{}
		return nil
	case listed && b.ignore.there && b.ignore.etag == all[i].ETag:
		return nil
	}
	header := http.Header{}
	if !listed && b.ignore.there {
		header.Set(ifNoneMatch, `"`+b.ignore.etag+`"`)
	}
	answer, err := b.client.get(ctx, b.client.objectURL(object{Key: exclude.IgnoreFile}), header)
	var refused *answerError
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusNotFound && !listed:
		b.ignore = ignoreFile{}
		return nil
	case err != nil:
		return err
	case answer.StatusCode == http.StatusNotModified:
		return answer.Body.Close()
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, exclude.MostBytes+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if len(data) > exclude.MostBytes {
		return transport.Failed(source.LimitExceeded, "%s has more than %d bytes", exclude.IgnoreFile, exclude.MostBytes)
	}
	b.ignore = ignoreFile{there: true, etag: trimETag(answer.Header.Get("ETag")), lines: string(data)}
	if listed {
		b.ignore.etag = all[i].ETag
	}
	return nil
}
