package claim

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// What tests of this package look at from outside.
var (
	Glob   = matchesGlob
	PathIn = func(p Path, o object.Object) []field.Path { return p.in(Subject{Live: o}) }
)
