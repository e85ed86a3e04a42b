package reconcile

// purpose says what a run is for. It changes in this file only, by the transitions below.
//
//	purpose         | the run writes
//	betweenRollouts | what the policy allows without a rollout: corrections of drift; a revision that is brought out already
//	comparing       | nothing: whether a new revision changes anything is not known yet
//	comparingBefore | nothing: a rollout of the new revision follows in any case, once its first hooks have ended
//	rollingOut      | what a new revision or a request changes
//
//	transition | betweenRollouts | comparing       | comparingBefore | rollingOut
//	compare    | comparing       | -               | -               | -
//	confirm    | -               | comparingBefore | -               | -
//	rollOut    | rollingOut      | rollingOut      | -               | -
//	leave      | -               | -               | -               | betweenRollouts
//
// A dash leaves the purpose as it is.
type purpose uint8

const (
	betweenRollouts purpose = iota
	comparing
	comparingBefore
	rollingOut
)

// comparesOnly reports whether the run only finds out what the new revision would change.
func (p purpose) comparesOnly() bool { return p == comparing || p == comparingBefore }

// compare is the transition when it is not known whether the new revision changes anything.
func (p *purpose) compare() {
	if *p == betweenRollouts {
		*p = comparing
	}
}

// confirm is the transition when the comparison cannot make the rollout needless.
func (p *purpose) confirm() {
	if *p == comparing {
		*p = comparingBefore
	}
}

// rollOut is the transition when there is something to bring out.
func (p *purpose) rollOut() {
	if *p == betweenRollouts || *p == comparing {
		*p = rollingOut
	}
}

// leave is the transition when the rollout has ended before it came to the objects: a person has ended it, or it is about none of them.
func (p *purpose) leave() {
	if *p == rollingOut {
		*p = betweenRollouts
	}
}
