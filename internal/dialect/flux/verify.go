package flux

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/source"
)

const verifyField = "spec.verify.mode"

// invalidVerificationMode is the reason of Flux's source-controller for a mode that the reference does not allow.
const invalidVerificationMode = "InvalidVerificationMode"

// verification checks spec.verify, and returns the name of the Secret with the keys.
func (r *reading) verification(spec sourcev1.GitRepositorySpec) string {
	v := spec.Verification
	if v == nil {
		return ""
	}
	if v.SecretRef.Name == "" {
		r.Problem("spec.verify.secretRef.name", "required: the Secret with the public keys that are trusted")
	}
	switch ref := spec.Reference; {
	case v.Mode != "" && v.Mode != "head" && !v.Mode.Valid():
		r.Problem(verifyField, "want HEAD, Tag or TagAndHEAD, not %q", v.Mode)
	case v.VerifyTag() && (ref == nil || ref.Commit != "" || ref.Tag == "" && ref.SemVer == "" && ref.Name == "" || ref.Name != "" && !strings.HasPrefix(ref.Name, "refs/tags/")):
		r.Problem(verifyField, "is %s, and the reference is no tag: name one in spec.ref.tag or spec.ref.semver", v.Mode)
	}
	return v.SecretRef.Name
}

// armoredKey begins a PGP public key.
const armoredKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// verificationOf reads the keys of the Secret: PGP public keys in keys that end in .asc, SSH public keys in those that end in .sshpub. As in Flux, a key
// with no such ending may hold PGP public keys, too; one that holds something else is left out.
func verificationOf(s dialect.Source, v *sourcev1.GitRepositoryVerification, secrets source.Secrets) (source.Verification, error) {
	if v == nil {
		return source.Verification{}, nil
	}
	name := v.SecretRef.Name
	data, ok := secrets.Other[name]
	if !ok {
		return source.Verification{}, refusedSource(s.Key, source.VerificationError, "Secret "+name+" of spec.verify.secretRef is not there")
	}
	out := source.Verification{Commit: v.VerifyHEAD(), Tag: v.VerifyTag(), Secret: s.Key.Namespace + "/" + name}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		switch text := string(data[key]); {
		case strings.HasSuffix(key, ".sshpub"):
			out.SSH += text + "\n"
		case strings.HasSuffix(key, ".asc"), strings.Contains(text, armoredKey):
			out.PGP += text + "\n"
		}
	}
	if out.PGP == "" && out.SSH == "" {
		return source.Verification{}, refusedSource(s.Key, source.VerificationError,
			"Secret "+name+" of spec.verify.secretRef holds no key: want PGP public keys in keys that end in .asc, or SSH public keys in keys that end in .sshpub")
	}
	return out, nil
}

// verified sets the condition of signatures. What another failure says nothing of stays as it was.
func (c *conditions) verified(s dialect.SourceState) {
	reason, failed := verificationReason(s.Err)
	switch {
	case s.Running:
		c.keep(sourcev1.SourceVerifiedCondition)
	case failed:
		c.set(sourcev1.SourceVerifiedCondition, metav1.ConditionFalse, reason, s.Err.Error())
	case s.Err == nil && s.Artifact.Verified != "":
		c.set(sourcev1.SourceVerifiedCondition, metav1.ConditionTrue, meta.SucceededReason, s.Artifact.Verified)
	default:
		c.keep(sourcev1.SourceVerifiedCondition)
	}
}

// verificationReason reports whether a fetch went through, and what was fetched is not verified.
func verificationReason(err error) (string, bool) {
	var e *source.Error
	if errors.As(err, &e) && (e.Reason == source.VerificationFailed || e.Reason == source.VerificationError) {
		return string(e.Reason), true
	}
	return "", false
}
