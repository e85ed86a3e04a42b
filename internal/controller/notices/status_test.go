package notices

import (
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// TestAProviderThatFailsHasOneEventOfEachCause: the text of an error has another port at each try.
func TestAProviderThatFailsHasOneEventOfEachCause(t *testing.T) {
	o := NewOutlet(Options{})
	key := objectKey{"Provider", route.Key{Namespace: "shop", Name: "chat"}}
	for i, c := range []struct {
		text  string
		isNew bool
	}{
		{"", false}, {"read tcp 10.1.1.7:39251->10.0.0.1:443: connection reset by peer", true}, {"read tcp 10.1.1.7:40001->10.0.0.1:443: connection reset by peer", false},
		{"HTTP 403", true}, {"", true}, {"HTTP 403", true},
	} {
		if got := o.isNewFault(key, c.text); got != c.isNew {
			t.Errorf("%d: %q is new: %t", i, c.text, got)
		}
	}
}
