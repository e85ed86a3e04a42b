package reconcile

import "testing"

// TestPurposeTransitions walks the table in the comment of purpose.
func TestPurposeTransitions(t *testing.T) {
	all := []purpose{betweenRollouts, comparing, comparingBefore, rollingOut}
	for name, c := range map[string]struct {
		transition func(*purpose)
		want       []purpose // from each of all
	}{
		"compare": {(*purpose).compare, []purpose{comparing, comparing, comparingBefore, rollingOut}},
		"confirm": {(*purpose).confirm, []purpose{betweenRollouts, comparingBefore, comparingBefore, rollingOut}},
		"rollOut": {(*purpose).rollOut, []purpose{rollingOut, rollingOut, comparingBefore, rollingOut}},
		"leave":   {(*purpose).leave, []purpose{betweenRollouts, comparing, comparingBefore, betweenRollouts}},
	} {
		for i, from := range all {
			p := from
			if c.transition(&p); p != c.want[i] {
				t.Errorf("%s from %d: %d, want %d", name, from, p, c.want[i])
			}
		}
	}
}
