package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest returns a hash of the objects, in the form algorithm:hex. What holds a Secret's values counts by where these come from: a digest of a guessable
// value would reveal it.
func (s Set) Digest(sources string) string {
	sum := sha256.New()
	for _, o := range s.Objects {
		content := o.Digest
		if content == "" {
			content = sources
		}
		fmt.Fprintf(sum, "%s\n%s\n", o.ID, content)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
