package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest returns a hash of the objects, in the form algorithm:hex. What holds a Secret's values counts by its revision: a digest of a guessable value would
// reveal it.
func (s Set) Digest(revision string) string {
	sum := sha256.New()
	for _, o := range s.Objects {
		content := o.Digest
		if content == "" {
			content = revision
		}
		fmt.Fprintf(sum, "%s\n%s\n", o.ID, content)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
