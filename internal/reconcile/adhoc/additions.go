package adhoc

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/decide/addition"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// FindAdditions lists the fields of the live object that others have added and that Git does not name, by its managedFields. Defaults of the
// server, in the entry of the manager that created the object, may be among them; a dry run shows which.
func FindAdditions(s Subject) ([]compare.Addition, error) {
	owners, err := ownership.Entries(s.Live)
	if err != nil || s.Live == nil {
		return nil, err
	}
	return addition.FindAdditions(addition.Input{
		Desired: s.Desired.Data, Live: s.Live, Owners: owners, Catalogue: claim.Builtin(), Manager: Applier(owners),
	}), nil
}

// added lists the additions that count: those that a dry run has shown, or that are certain without one; without what is claimed.
func (j Comparer) added(s Subject) ([]compare.Addition, error) {
	all := s.Asked
	if s.Expected == nil {
		found, err := FindAdditions(s)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(certain(s.Live, found), func(a compare.Addition) bool {
			return isFilled(j.Kinds, s.Live, a.Path) || len(a.Held) > 0 && !slices.ContainsFunc(a.Held, func(o ownership.Entry) bool { return !isUpdater(o) })
		})
	}
	if j.cession() == policy.ClaimsOff || len(all) == 0 {
		return all, nil
	}
	claims := j.Claims.On(s)
	return slices.DeleteFunc(slices.Clone(all), func(a compare.Addition) bool {
		return slices.ContainsFunc(claims, func(c claim.Claim) bool { return field.HasPrefix(a.Path, c.Path) })
	}), nil
}

// certain drops what may be a default of the server: without a dry run, only what no server adds counts in the entry of the manager that
// has made the object.
func certain(live object.Object, all []compare.Addition) []compare.Addition {
	made := stringAt(live, "metadata", "creationTimestamp")
	return slices.DeleteFunc(all, func(a compare.Addition) bool {
		if a.Kept != "" { // its writer is unknown
			return true
		}
		first := func(o ownership.Entry) bool {
			return o.Operation == "Update" && o.Time.UTC().Format(time.RFC3339) == made
		}
		return slices.ContainsFunc(a.Held, first) && !neverDefaulted(a.Path)
	})
}

func stringAt(o object.Object, path ...string) string {
	s, _ := o.At(path...).(string)
	return s
}

// neverDefaulted reports whether no server puts something there by itself: labels, annotations, data, and list items with names.
func neverDefaulted(p field.Path) bool {
	if last := p[len(p)-1]; last.Key != nil {
		return true
	}
	if p[0].FieldName == nil {
		return false
	}
	switch *p[0].FieldName {
	case "metadata", "data", "binaryData":
		return true
	}
	return false
}
