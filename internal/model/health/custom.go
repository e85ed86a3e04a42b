package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Custom are a user's own rules for the objects of one kind, or of all kinds of a group where Kind is empty, in the Common Expression Language over
// an object's fields. The first that is true decides, in the order of the fields. InProgress and Failed may be zero.
type Custom struct {
	Group, Kind                 string
	InProgress, Failed, Current cel.Expression
}

// Check is an object by which an app is judged, whether it is the app's own or not.
type Check struct {
	ID      object.ID
	Version string // of the API
}

// GVK returns the kind of the object, with its version.
func (c Check) GVK() object.GVK {
	return object.GVK{Group: c.ID.Group, Version: c.Version, Kind: c.ID.Kind}
}

// Failure is a health check of an app that has failed. Its zero value is none.
type Failure struct {
	ID    object.ID
	Cause string    // why, redacted
	Since time.Time // zero for unknown
}

// FindCustom returns the rules for an object, nil for none. Those of its kind go before those of its whole group.
func FindCustom(all []Custom, id object.ID) *Custom {
	for _, kind := range []string{id.Kind, ""} {
		if i := slices.IndexFunc(all, func(c Custom) bool { return c.Group == id.Group && c.Kind == kind }); i >= 0 {
			return &all[i]
		}
	}
	return nil
}

// Equal reports whether the rules are written alike.
func (c Custom) Equal(other Custom) bool {
	return c.Group == other.Group && c.Kind == other.Kind && c.InProgress.Equal(other.InProgress) && c.Failed.Equal(other.Failed) && c.Current.Equal(other.Current)
}

// Assess judges one object. A status about an older generation says nothing yet; a rule that cannot be evaluated, for want of a field, is Unknown.
func (c Custom) Assess(o object.Object) Status {
	if o.At("metadata", "deletionTimestamp") != nil {
		return Status{Code: Progressing, Message: "terminating"}
	}
	if observed, there := o.At("status", "observedGeneration").(int64); there && observed != o.Generation() {
		return Status{Code: Progressing, Message: fmt.Sprintf("its status is about generation %d of %d", observed, o.Generation())}
	}
	for _, rule := range []struct {
		name string
		is   cel.Expression
		code Code
	}{{"inProgress", c.InProgress, Progressing}, {"failed", c.Failed, Degraded}, {"current", c.Current, Healthy}} {
		if rule.is.IsZero() {
			continue
		}
		switch is, err := rule.is.IsTrue(o); {
		case err != nil:
			return Status{Code: Unknown, Message: fmt.Sprintf("healthCheckExprs: %s cannot be evaluated: %v", rule.name, err)}
		case is && rule.code == Healthy:
			return Status{Code: Healthy}
		case is:
			return Status{Code: rule.code, Message: "healthCheckExprs: " + rule.name + " is true: " + rule.is.String()}
		}
	}
	return Status{Code: Progressing, Message: "healthCheckExprs: current is not true: " + c.Current.String()}
}
