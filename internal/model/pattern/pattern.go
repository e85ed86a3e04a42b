// Package pattern answers: when is a regular expression compiled?
//
// In: a regular expression.
// Out: the same, compiled when it is first needed.
// Promise: pure; a process that never asks keeps nothing of it. One with bounds, such as {1,512}, takes up to hundreds of kilobytes when it is compiled, and
// each render worker is a process.
// Not here: patterns of file names (glob).
package pattern

import (
	"regexp"
	"sync"
)

// OnDemand returns what compiles a regular expression once, when it is called first. It panics then if that is none.
func OnDemand(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
