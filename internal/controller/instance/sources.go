package instance

import (
	"strings"

	"github.com/truce-gitops/truce/internal/source/egress"
)

// sourceReaches are the values of keyReach.
var sourceReaches = map[string]egress.Reach{
	"any": egress.ReachAny, "network": egress.ReachNetwork, "public": egress.ReachPublic,
}

// sourcesData is what the ConfigMap says of the servers that sources may be at.
func sourcesData(p egress.Policy) map[string]any {
	out := map[string]any{keyAllowed: strings.Join(p.Allowed, ",")}
	for text, reach := range sourceReaches {
		if reach == p.Reach {
			out[keyReach] = text
		}
	}
	return out
}

// Sources returns the servers that sources may be at. It is false for an instance that does not publish them, as one of an older version.
func (i Instance) Sources() (egress.Policy, bool) {
	reach, known := sourceReaches[i.value(keyReach)]
	return egress.Policy{Reach: reach, Allowed: splitNames(i.value(keyAllowed))}, known
}
