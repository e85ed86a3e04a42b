package bucket

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/sigv4"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// address is where the objects of a bucket are.
type address struct {
	scheme, host string
	path         string // before the keys: / and, unless the host names it, the bucket
	bucket       string
	region       string // empty where it is not known
	amazon       bool
}

// defaultRegion is for requests to a storage of which no region is known.
const defaultRegion = "us-east-1"

var (
	// nameForm is a name that cannot be taken for another part of an address, if it is no longer than longestName. A bound in the expression itself is
	// compiled into a copy for each repetition, and every process of truce would keep them: 0.4 MB for those of this package.
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]+$`)
	// hostForm is a name that may be part of a host with a certificate for one level: the form of new buckets at Amazon, without dots.
	// It and a region are no longer than longestLabel.
	hostForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]+[a-z0-9]$`)
	regionForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	// amazonForm are the hosts of S3 by region, which the first group is.
	amazonForm = regexp.MustCompile(`^s3(?:[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-[0-9]+))?\.amazonaws\.com(?:\.cn)?$`)
)

const (
	longestName  = 255 // of old buckets at Amazon
	longestLabel = 63  // of a host's name
)

// isRegion reports whether a text may be the name of a region.
func isRegion(text string) bool { return len(text) <= longestLabel && regionForm.MatchString(text) }

// addressOf reads the endpoint of a spec: http or https, a host and perhaps a port.
func addressOf(spec source.Spec) (address, error) {
	u, err := url.Parse(spec.URL)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return address{}, transport.Failed(source.BucketFailed, "the endpoint is no HOST or HOST:PORT")
	case len(spec.Bucket.Name) > longestName || !nameForm.MatchString(spec.Bucket.Name):
		return address{}, transport.Failed(source.BucketFailed, "%.100q is no name of a bucket", spec.Bucket.Name)
	case spec.Bucket.Region != "" && !isRegion(spec.Bucket.Region):
		return address{}, transport.Failed(source.BucketFailed, "%.100q is no region", spec.Bucket.Region)
	}
	out := address{scheme: u.Scheme, host: u.Host, path: "/" + spec.Bucket.Name + "/", bucket: spec.Bucket.Name, region: spec.Bucket.Region}
	match := amazonForm.FindStringSubmatch(strings.ToLower(u.Hostname()))
	if match == nil {
		return out, nil
	}
	if out.amazon = true; out.region == "" {
		out.region = match[1]
	}
	return out.in(out.region), nil
}

// in is the address at Amazon in a region: https://BUCKET.s3.REGION.amazonaws.com where the name of the bucket may be in it.
func (a address) in(region string) address {
	host, port, err := net.SplitHostPort(a.host)
	if err != nil {
		host, port = a.host, ""
	}
	host = strings.TrimPrefix(strings.ToLower(host), a.bucket+".")
	if host == "s3.amazonaws.com" && region != "" && region != defaultRegion {
		host = "s3." + region + ".amazonaws.com"
	}
	if len(a.bucket) <= longestLabel && hostForm.MatchString(a.bucket) {
		host, a.path = a.bucket+"."+host, "/"
	}
	if a.host, a.region = host, region; port != "" {
		a.host = net.JoinHostPort(host, port)
	}
	return a
}

// url is that of an object, or of the bucket for an empty key. query is in canonical form.
func (a address) url(key, query string) *url.URL {
	path := a.path + key
	if key == "" && path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	return &url.URL{Scheme: a.scheme, Host: a.host, Path: path, RawPath: sigv4.EscapePath(path), RawQuery: query}
}

var errAnotherRegion = errors.New("the bucket is in another region; name it in spec.region")
