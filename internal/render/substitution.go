package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
)

// valuesDigest identifies variables' values in the keys of a cache, which are printed nowhere.
func valuesDigest(s *variables.Set) (string, error) {
	if s == nil {
		return "", nil
	}
	return digestOfJSON(s)
}

// chartDigest identifies a chart's values and the stored release, which may hold what is secret.
func chartDigest(c *release.Request) (string, error) {
	if c == nil {
		return "", nil
	}
	return digestOfJSON(c)
}

func digestOfJSON(v any) (string, error) {
	text, err := json.Marshal(v) // keys in order
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
