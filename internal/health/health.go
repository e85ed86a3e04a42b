// Package health answers: does this object work?
//
// In: a live object.
// Out: a Status: one of six words, and a sentence.
// Promise: pure; an object that cannot be judged is Unknown, never Healthy.
// Not here: the rules themselves (children), waiting until something works (observe).
package health

import "github.com/truce-gitops/truce/internal/object"

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
}

// Assessor judges one live object. It is pure, does not keep the object, and may be called concurrently.
type Assessor interface {
	Assess(live object.Object) Status
}

var order = map[Code]int{Healthy: 0, Suspended: 1, Progressing: 2, Unknown: 3, Missing: 4, Degraded: 5}

// Worst returns the worse of two codes; an unknown word counts as Unknown.
func Worst(a, b Code) Code {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(c Code) int {
	if r, ok := order[c]; ok {
		return r
	}
	return order[Unknown]
}
