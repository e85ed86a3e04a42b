package git

import (
	"crypto/x509"
	"os"
)

// rootFiles are where systems keep the certificates that they trust, in the order of crypto/x509.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// besideRoots adds the machine's roots to the CA bundle of a source: git trusts the file of http.sslCAInfo alone, and Flux trusts both. A bundle without a
// certificate stays as it is, and git refuses it.
func besideRoots(bundle string) string {
	if bundle == "" || !x509.NewCertPool().AppendCertsFromPEM([]byte(bundle)) {
		return bundle
	}
	files := rootFiles
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		files = []string{file}
	}
	for _, name := range files {
		if roots, err := os.ReadFile(name); err == nil {
			return bundle + "\n" + string(roots)
		}
	}
	return bundle
}
