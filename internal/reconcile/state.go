package reconcile

// objectState says how far truce has come with the object that Git describes: whether the API server holds it, and whether it was compared
// with the live object. The fields change in this file only, by the transitions below.
//
//	phase       | Git describes it | an apply was answered | the server holds it | the baseline is about it
//	undescribed | not known yet    | -                     | -                   | -
//	unapplied   | yes              | no                    | no                  | no
//	predicted   | yes              | no                    | no                  | yes, a dry run's answer
//	sent        | yes              | yes                   | not known, or gone  | yes, or none in this process
//	applied     | yes              | yes                   | yes                 | yes, or none in this process
//
//	transition     | undescribed | unapplied | predicted | sent    | applied   | compared becomes
//	describe       | unapplied; sent, where an earlier process has applied that very object | false
//	predict        | -           | predicted; unapplied, where the baseline is about an earlier object | unchanged
//	foundApplied   | -           | sent      | sent      | -       | -         | unchanged
//	apply          | -           | applied   | applied   | applied | -         | unchanged
//	takeOver       | -           | -         | unapplied | unapplied | unapplied | unchanged
//	recreate       | -           | -         | unapplied | unapplied | unapplied | unchanged
//	trust          | applied     | applied   | applied   | applied | -         | true
//	compare with an object that is there, by an app that enforces:
//	               | -           | applied   | applied   | applied | -         | true
//	compare with an object that is there, by another app:
//	               | -           | -         | -         | applied | -         | true
//	compare, and the object is absent:
//	               | -           | -         | -         | -       | sent      | true
//	compare of a description that is no longer the present one:
//	               | -           | -         | -         | -       | -         | false
//
// A dash leaves the phase as it is. An undescribed object is never compared.
type objectState struct {
	phase    phase
	compared bool // with the live object, since Git describes it so
}

// phase is how much of Git's object has reached the API server.
type phase uint8

const (
	undescribed phase = iota
	unapplied
	predicted
	sent
	applied
)

// isDescribed reports whether it is known what Git wants of the object.
func (s objectState) isDescribed() bool { return s.phase != undescribed }

// isChanged reports whether Git has changed the object since the last apply, or it was never applied.
func (s objectState) isChanged() bool { return s.phase == unapplied || s.phase == predicted }

// describe is the transition to another object in Git. applied says that an earlier process has applied that very object.
func (s *objectState) describe(applied bool) {
	*s = objectState{phase: unapplied}
	if applied {
		s.phase = sent
	}
}

// predict is the transition when a baseline was taken without an apply. ofGit says that it is about the object that Git describes now.
func (s *objectState) predict(ofGit bool) {
	if !s.isChanged() {
		return
	}
	s.phase = unapplied
	if ofGit {
		s.phase = predicted
	}
}

// foundApplied is the transition when the live object shows that an earlier process has applied it.
func (s *objectState) foundApplied() {
	if s.isChanged() {
		s.phase = sent
	}
}

// apply is the transition when the server has answered an apply of the object.
func (s *objectState) apply() {
	if s.isDescribed() {
		s.phase = applied
	}
}

// takeOver is the transition when the ownership of the object has moved between another controller and truce: what was applied before says
// nothing about what an apply leaves now.
func (s *objectState) takeOver() {
	if s.isDescribed() {
		s.phase = unapplied
	}
}

// recreate is the transition when truce has deleted the object in order to create it: its absence is no drift.
func (s *objectState) recreate() { s.takeOver() }

// trust is the transition when the server shows the object as an earlier process has compared it.
func (s *objectState) trust() { *s = objectState{phase: applied, compared: true} }

// comparison is what a comparison that left nothing to do was about.
type comparison struct {
	current  bool // the object that was compared is the one that Git describes now
	present  bool // in the cluster
	enforced bool // whatever differs is withheld, not left to be applied
}

// compare is the transition when nothing is left to do about the object.
func (s *objectState) compare(c comparison) {
	s.compared = c.current && s.isDescribed()
	switch {
	case !c.present && s.phase == applied:
		s.phase = sent
	case c.present && (s.phase == sent || c.enforced && c.current && s.isChanged()):
		s.phase = applied
	}
}
