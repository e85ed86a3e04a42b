package reconcile

import (
	"reflect"
	"testing"
)

// TestObjectStateTransitions walks the table in the comment of objectState.
func TestObjectStateTransitions(t *testing.T) {
	all := []phase{undescribed, unapplied, predicted, sent, applied}
	compareAs := func(c comparison) func(*objectState) { return func(s *objectState) { s.compare(c) } }
	for name, c := range map[string]struct {
		transition func(*objectState)
		want       []phase // from each of all
	}{
		"describe":                       {func(s *objectState) { s.describe(false) }, []phase{unapplied, unapplied, unapplied, unapplied, unapplied}},
		"describe what was applied":      {func(s *objectState) { s.describe(true) }, []phase{sent, sent, sent, sent, sent}},
		"predict":                        {func(s *objectState) { s.predict(true) }, []phase{undescribed, predicted, predicted, sent, applied}},
		"predict an earlier description": {func(s *objectState) { s.predict(false) }, []phase{undescribed, unapplied, unapplied, sent, applied}},
		"foundApplied":                   {(*objectState).foundApplied, []phase{undescribed, sent, sent, sent, applied}},
		"apply":                          {(*objectState).apply, []phase{undescribed, applied, applied, applied, applied}},
		"takeOver":                       {(*objectState).takeOver, []phase{undescribed, unapplied, unapplied, unapplied, unapplied}},
		"trust":                          {(*objectState).trust, []phase{applied, applied, applied, applied, applied}},
		"compare, enforced":              {compareAs(comparison{current: true, present: true, enforced: true}), []phase{undescribed, applied, applied, applied, applied}},
		"compare, not enforced":          {compareAs(comparison{current: true, present: true}), []phase{undescribed, unapplied, predicted, applied, applied}},
		"compare, absent":                {compareAs(comparison{current: true, enforced: true}), []phase{undescribed, unapplied, predicted, sent, sent}},
		"compare an earlier description": {compareAs(comparison{present: true, enforced: true}), []phase{undescribed, unapplied, predicted, applied, applied}},
	} {
		for i, from := range all {
			s := objectState{phase: from}
			c.transition(&s)
			if s.phase != c.want[i] {
				t.Errorf("%s from phase %d: phase %d, want %d", name, from, s.phase, c.want[i])
			}
		}
	}
}

// TestACompareOfAnEarlierDescriptionIsNone: a run may have brought a newer object while the one before was compared.
func TestACompareOfAnEarlierDescriptionIsNone(t *testing.T) {
	for _, current := range []bool{true, false} {
		s := objectState{phase: unapplied, compared: !current}
		if s.compare(comparison{current: current, present: true}); s.compared != current {
			t.Errorf("compared %t, want %t", s.compared, current)
		}
	}
}

// TestAManagedObjectStaysSmall: there is one for each object of each app (bench: Rest).
func TestAManagedObjectStaysSmall(t *testing.T) {
	if size := reflect.TypeFor[managedObject]().Size(); size > 768 {
		t.Errorf("%d bytes, want at most 768", size)
	}
}
