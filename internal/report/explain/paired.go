package explain

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/pairing"
)

// fieldPaths are the paths of one field in Git's object and in the live one: an item of a list without keys may stand elsewhere in each.
type fieldPaths struct {
	git, live     field.Path
	inGit, inLive bool // whether there is such a path: the object may not have the item in which the field lies
}

// name returns the path by which findings, the journal and people name the field: that in Git's object, if there is one.
func (p fieldPaths) name() field.Path {
	if p.inGit {
		return p.git
	}
	return p.live
}

// concerns reports whether a finding is about the field, something above it, or something below it.
func (p fieldPaths) concerns(finding field.Path) bool {
	if !p.inGit && slices.ContainsFunc(finding, isPosition) {
		return false // it is about an item of Git's
	}
	return field.HasPrefix(p.name(), finding) || field.HasPrefix(finding, p.name())
}

func isPosition(e field.Element) bool { return e.Index != nil }

// itemPairs pairs the items of Git's object with those of the live one. What findings are about does not say which item it is.
func (s Subject) itemPairs() *pairing.Pairs {
	var parts []field.Path
	for _, x := range s.Found.Findings {
		parts = append(parts, x.Path)
	}
	return pairing.NewPairs(s.Git, s.Live, parts)
}

// pathsInGit returns the paths of the field at a path in Git's object. One to an item that Git's list is too short for is a path in the live object.
func (s Subject) pathsInGit(pairs *pairing.Pairs, p field.Path) fieldPaths {
	at, paired := pairs.InLive(p)
	if !paired && s.isBeyondGit(p) {
		return fieldPaths{live: p, inLive: true}
	}
	return fieldPaths{git: p, live: at, inGit: true, inLive: paired}
}

func (s Subject) isBeyondGit(p field.Path) bool {
	for i, e := range p {
		if _, there := field.ValueAt(s.Git, p[:i+1]); isPosition(e) && !there {
			return true
		}
	}
	return false
}

// pathsInLive returns the paths of the field at a path in the live object. An item that Git's list has not is known by its name, if it has one.
func (s Subject) pathsInLive(pairs *pairing.Pairs, at field.Path) fieldPaths {
	if p, paired := pairs.InGit(at); paired {
		return fieldPaths{git: p, live: at, inGit: true, inLive: true}
	}
	none := fieldPaths{live: at, inLive: true}
	n := 0
	for ; n < len(at); n++ {
		if _, paired := pairs.InGit(at[:n+1]); !paired {
			break
		}
	}
	list, _ := pairs.InGit(at[:n])
	v, _ := field.ValueAt(s.Live, at[:n+1])
	item, _ := v.(map[string]any)
	if name, _ := item["name"].(string); name == "" {
		return none
	}
	named := slices.Concat(list, field.Path{field.KeyElement(item, []string{"name"})})
	if _, inGit := field.ValueAt(s.Git, named); inGit {
		return none // of several items of the name
	}
	return fieldPaths{git: slices.Concat(named, at[n+1:]), live: at, inGit: true, inLive: true}
}
