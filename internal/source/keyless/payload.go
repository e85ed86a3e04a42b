package keyless

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strconv"

	"github.com/truce-gitops/truce/internal/source/cosign"
)

// The annotations of a payload beside that of its signature.
const (
	CertificateAnnotation = "dev.sigstore.cosign/certificate"      // PEM
	LogAnnotation         = "dev.sigstore.cosign/bundle"           // JSON: the promise of a log, and what was logged
	TimestampAnnotation   = "dev.sigstore.cosign/rfc3161timestamp" // JSON: the answer of a timestamp authority
)

// logged is the annotation of a log.
type logged struct {
	SignedEntryTimestamp []byte
	Payload              struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogIndex       int64  `json:"logIndex"`
		LogID          string `json:"logID"`
	}
}

// bundleOf makes a bundle, in JSON, of what cosign 2 has written into the annotations of a payload.
func bundleOf(payload []byte, annotations map[string]string) ([]byte, error) {
	signature, err := base64.StdEncoding.DecodeString(annotations[cosign.SignatureAnnotation])
	if err != nil || len(signature) == 0 {
		return nil, errors.New("its signature is not base64")
	}
	block, _ := pem.Decode([]byte(annotations[CertificateAnnotation]))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it is signed without a certificate")
	}
	entry, err := logEntry(annotations[LogAnnotation])
	if err != nil {
		return nil, err
	}
	type m = map[string]any
	material := m{"x509CertificateChain": m{"certificates": []m{{"rawBytes": block.Bytes}}}, "tlogEntries": []m{entry}}
	if text := annotations[TimestampAnnotation]; text != "" {
		var answer struct{ SignedRFC3161Timestamp []byte }
		if json.Unmarshal([]byte(text), &answer) != nil {
			return nil, errors.New("its timestamp is malformed")
		}
		material["timestampVerificationData"] = m{"rfc3161Timestamps": []m{{"signedTimestamp": answer.SignedRFC3161Timestamp}}}
	}
	sum := sha256.Sum256(payload)
	return json.Marshal(m{
		"mediaType": cosign.BundleType + "+json;version=0.1", "verificationMaterial": material,
		"messageSignature": m{"messageDigest": m{"algorithm": "SHA2_256", "digest": sum[:]}, "signature": signature},
	})
}

// logEntry is the entry of a log in the form of a bundle.
func logEntry(text string) (map[string]any, error) {
	if text == "" {
		return nil, errors.New("it does not hold what a transparency log says of it, and none is asked: sign it with a log")
	}
	var entry logged
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if json.Unmarshal([]byte(text), &entry) != nil || json.Unmarshal(entry.Payload.Body, &kind) != nil {
		return nil, errors.New("what a transparency log says of it is malformed")
	}
	log, err := hex.DecodeString(entry.Payload.LogID)
	if err != nil {
		return nil, errors.New("what a transparency log says of it is malformed")
	}
	type m = map[string]any
	return m{
		"logIndex": strconv.FormatInt(entry.Payload.LogIndex, 10), "logId": m{"keyId": log},
		"kindVersion":       m{"kind": kind.Kind, "version": kind.APIVersion},
		"integratedTime":    strconv.FormatInt(entry.Payload.IntegratedTime, 10),
		"inclusionPromise":  m{"signedEntryTimestamp": entry.SignedEntryTimestamp},
		"canonicalizedBody": entry.Payload.Body,
	}, nil
}
