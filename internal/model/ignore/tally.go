package ignore

import (
	"fmt"
	"slices"
	"strconv"
)

// Tally is the result of the rules on one object. The zero Tally is of an object that was not looked at.
type Tally struct {
	parts []result // of the rules, in order
	own   []string // what is to be said of the object's own annotation
}

// result is what came of one part of a rule. The zero value: the rule is not about the object.
type result struct {
	met     bool
	hint    string // why not, if it is about the object and covers nothing
	fragile string // how it may come to mean something else
}

// Tally returns the result of the rules on the object. The rules may be those that On returned for it.
func (rs Rules) Tally(s Observed) Tally {
	t := Tally{parts: []result{}}
	for i := range rs {
		r := &rs[i]
		about := r.Target.Matches(s.Desired)
		for p := range r.parts {
			var res result
			if about {
				res = p.result(s)
			}
			if r.Name == ownRule {
				t.own = append(t.own, sentences(s.Desired.ID().String()+": "+r.Name+": "+p.String(), res)...)
			} else {
				t.parts = append(t.parts, res)
			}
		}
	}
	return t
}

func (p part) result(s Observed) result {
	res := result{met: len(p.paths(s)) > 0}
	if !res.met {
		res.hint = p.hint(s)
	}
	if p.counts(s) {
		res.fragile = p.fragile(s)
	}
	return res
}

// sentences returns the results about what the subject names.
func sentences(subject string, r result) []string {
	var out []string
	if !r.met && r.hint != "" {
		out = append(out, subject+" covers no field"+r.hint)
	}
	if r.fragile != "" {
		out = append(out, subject+" counts list items: "+r.fragile)
	}
	return out
}

// maxNotes bounds what is said of one app's rules: more would hide what matters.
const maxNotes = 20

// Notes returns sentences on what came of the rules on all objects of the app: which parts cover nothing although their rules
// match objects, which are fragile. While an object was not looked at, no part is said to cover nothing.
func (rs Rules) Notes(tallies []Tally) []string {
	var out []string
	complete := !slices.ContainsFunc(tallies, func(t Tally) bool { return t.parts == nil })
	n := 0
	for i := range rs {
		for p := range rs[i].parts {
			res := sumTallies(tallies, n)
			if rs[i].Shared {
				res.met, res.hint = true, ""
			}
			res.met = res.met || !complete
			out = append(out, sentences(rs[i].Name+": "+p.String(), res)...)
			n++
		}
	}
	for _, t := range tallies {
		out = append(out, t.own...)
	}
	if len(out) > maxNotes {
		out = append(out[:maxNotes:maxNotes], fmt.Sprintf("and %d more notes on ignore rules", len(out)-maxNotes))
	}
	return out
}

// sumTallies puts together what came of the n-th part on all objects: it has met something if it has on one, and the first object that
// has something to say says it.
func sumTallies(tallies []Tally, n int) result {
	var out result
	for _, t := range tallies {
		if n >= len(t.parts) {
			continue
		}
		r := t.parts[n]
		out.met = out.met || r.met
		if out.hint == "" {
			out.hint = r.hint
		}
		if out.fragile == "" {
			out.fragile = r.fragile
		}
	}
	return out
}

// String names the part as messages call it.
func (p part) String() string {
	switch {
	case p.pointer != nil:
		return p.pointer.String()
	case p.query != "":
		return "jq " + strconv.Quote(p.query)
	}
	return "manager " + strconv.Quote(p.manager)
}
