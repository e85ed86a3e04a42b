// Package provider answers: which cloud gives the credentials of a source, to whom, and what does its storage speak?
//
// In: nothing but the words of spec.provider.
// Out: values, without any credential in them.
// Promise: pure.
// Not here: getting credentials (source/cloud), reading spec.provider (dialect).
package provider

import (
	"regexp"
	"strings"
)

// Identity says which cloud gives the credentials of a source, and to whom. The zero value is none: the credentials are those of the Secret.
type Identity struct {
	Cloud Cloud
	// Namespace and Account name a ServiceAccount of the cluster, whose annotations name an identity of the cloud; an empty Account is the identity
	// that the controller itself has.
	Namespace, Account string
	// TokenService is the URL of Amazon's Security Token Service (spec.sts.endpoint of a Bucket); empty for that of the region.
	TokenService string
}

// Cloud is one that gives credentials to identities.
type Cloud string

// The clouds, as spec.provider names them.
const (
	NoCloud Cloud = ""
	AWS     Cloud = "aws"
	Azure   Cloud = "azure"
	GCP     Cloud = "gcp"
)

// Name is what people call the cloud.
func (c Cloud) Name() string {
	if c == Azure {
		return "Azure"
	}
	return strings.ToUpper(string(c))
}

// IsOwn reports whether it is the identity that the controller itself has.
func (i Identity) IsOwn() bool { return i.Cloud != NoCloud && i.Account == "" }

// String names the identity for a message.
func (i Identity) String() string {
	of := "the controller"
	if i.Account != "" {
		of = "ServiceAccount " + i.Namespace + "/" + i.Account
	}
	return "the identity of " + of + " at " + i.Cloud.Name()
}

// tokenServiceForm are the addresses of Amazon's Security Token Service, those of a private link among them.
var tokenServiceForm = regexp.MustCompile(`^https://([a-z0-9-]+\.)?sts(-fips)?(\.[a-z0-9-]+)?(\.vpce)?\.amazonaws\.com(\.cn)?/?$`)

// IsTokenService reports whether a URL is that of Amazon's Security Token Service.
func IsTokenService(url string) bool { return tokenServiceForm.MatchString(url) }

// StorageAPI is what an object storage speaks.
type StorageAPI string

// The APIs of object storages.
const (
	S3API     StorageAPI = ""
	GoogleAPI StorageAPI = "gcp"
	BlobAPI   StorageAPI = "azure"
)

// StorageLogin is a kind of credentials of a storage of Azure or Google Cloud.
type StorageLogin string

// The kinds of credentials.
const (
	NoLogin         StorageLogin = "" // but the identity of the source, if there is one
	GoogleKey       StorageLogin = "key of a service account"
	AccountKey      StorageLogin = "account key"
	SharedAccess    StorageLogin = "shared access signature"
	Principal       StorageLogin = "service principal"
	CertifiedClient StorageLogin = "service principal with a certificate"
	ManagedClient   StorageLogin = "managed identity"
)
