package decide

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/pairing"
)

// withPairs returns the input with the pairs of the items in which ceded fields lie; they are found when they are first asked for.
func withPairs(in Input) Input {
	if ceded := in.CededPaths(); len(ceded) > 0 {
		in.pairs = pairing.NewPairs(in.Desired, in.Live, ceded)
	}
	return in
}

// liveValue returns the live value of a field of Git's: in an atomic list that of the same item, wherever it stands.
func liveValue(in Input, p field.Path) (any, bool) {
	at, paired := in.pairs.InLive(p)
	if !paired {
		return nil, false
	}
	return field.ValueAt(in.Live, at)
}
