// Package health answers: does this object work, and if not, what do its pods say?
//
// In: a live object; the pods of a workload.
// Out: a Status: one of six words, and a sentence; a Cause; when the cluster deletes what has done its work (Expiry).
// Promise: pure; an object that cannot be judged is Unknown, never Healthy; of a pod only names, reasons, exit codes and what the
// kubelet and the scheduler report are in a Cause, nothing that a container wrote.
// Not here: the rules themselves (children), reading pods and waiting until something works (reconcile).
package health

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Code is one of six words.
type Code string

// The words, from best to worst as Worst orders them. Their meaning is Argo CD's and kstatus' together.
const (
	Healthy     Code = "Healthy"     // does what it says
	Suspended   Code = "Suspended"   // stands still on purpose
	Progressing Code = "Progressing" // not there yet, and nothing says that it will not be
	Unknown     Code = "Unknown"     // cannot be judged
	Missing     Code = "Missing"     // is not in the cluster
	Degraded    Code = "Degraded"    // says itself that it failed
)

// Status is a judgement with its reason.
type Status struct {
	Code    Code
	Message string
	// Counts is the code that the object's app counts instead of Code; empty for Code.
	Counts Code
	// Cause is what the pods report; Message begins with it. Empty where they report nothing, or nothing is wrong.
	Cause string
}

// ForApp returns the code that the object's app counts.
func (s Status) ForApp() Code {
	if s.Counts != "" {
		return s.Counts
	}
	return s.Code
}

// IsAwaited reports whether one who waits for health goes on waiting: the object is not healthy, and not suspended either.
func (c Code) IsAwaited() bool { return c != Healthy && c != Suspended }

// IsFailing reports whether the object does not work and its pods may know why.
func (s Status) IsFailing() bool { return s.Code == Degraded || s.Code == Progressing }

// With returns the status with a cause in front of its message.
func (s Status) With(cause string) Status {
	if cause == "" {
		return s
	}
	if s.Cause = cause; s.Message == "" {
		s.Message = cause
	} else if !strings.Contains(s.Message, cause) {
		s.Message = cause + "; " + s.Message
	}
	return s
}

// Rules say what an object must show to be Healthy.
type Rules string

// The rules.
const (
	Reconciled Rules = "kstatus" // its controller has brought it in line with its spec: kstatus, as in Flux
	Serving    Rules = "argocd"  // it also does what it is for, such as a load balancer that has an address: Argo CD
)

// Assessor judges one live object. It is pure, does not keep the object, and may be called concurrently.
type Assessor interface {
	Assess(live object.Object) Status
}

var order = map[Code]int{Healthy: 0, Suspended: 1, Progressing: 2, Unknown: 3, Missing: 4, Degraded: 5}

// WorstCode returns the worse of two codes; an unknown word counts as Unknown.
func WorstCode(a, b Code) Code {
	if codeRank(b) > codeRank(a) {
		return b
	}
	return a
}

func codeRank(c Code) int {
	if r, ok := order[c]; ok {
		return r
	}
	return order[Unknown]
}

// appOrder is the order in which Argo CD has the health of an app, from best to worst (gitops-engine/pkg/health).
var appOrder = []Code{Healthy, Suspended, Progressing, Missing, Degraded, Unknown}

// Worse returns the worse of two healths for an app that has both, the first of equal ones.
func (s Status) Worse(other Status) Status {
	if appRank(other.Code) > appRank(s.Code) {
		return other
	}
	return s
}

// appRank places a word that is none of the six beside Unknown, and no word before all.
func appRank(c Code) int {
	if i := slices.Index(appOrder, c); i >= 0 || c == "" {
		return i
	}
	return len(appOrder) - 1
}
