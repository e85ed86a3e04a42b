// Package optout answers: what does a single object ask for, against its app?
//
// In: the rules of a dialect and of an app, as data, and an object as Git and the cluster have it.
// Out: a Treatment: apply it never, once, or beside others, and what of its wishes cannot be met; for an object that Git no longer names, the
// mark by which it asks to stay.
// Promise: pure; a value that the dialect's own tool would not recognise is no opt-out, and is remarked on.
// Not here: the rules (dialect), what follows from them (decide, reconcile).
package optout

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Rule is one value of an annotation or label by which an object asks for another treatment than its app gives the others, or a field of the app that
// asks for it on behalf of some objects.
type Rule struct {
	Key   string // of the annotation or label; under Selected the name of the app's field
	Value string // an item such as "Prune" stands for all values of it that no other Rule names
	Match Match
	Effect
	Why     string  // of Remark: a clause
	Objects Objects // under Selected, those that are meant; else nil
}

// Objects are some of an app's objects. Implementations are pure and safe for concurrent use.
type Objects interface {
	Matches(git object.Object) bool
}

// Match says how the value is written. Tools differ in that, and what one of them would not recognise is no opt-out.
type Match string

// The values of Match.
const (
	Word Match = "word" // the whole value of an annotation or label, in any case (Flux)
	Item Match = "item" // one item of the comma-separated list in an annotation, in this case (Argo CD)
	// Selected is no annotation or label: the app's own resource names the objects.
	Selected Match = "selected"
)

// Effect is what an opt-out asks for. Its zero value is what happens in any case.
type Effect string

// The values of Effect.
const (
	NeverApply Effect = "never apply"
	CreateOnly Effect = "create only" // apply it while it is not in the cluster
	MergeOnly  Effect = "merge"       // leave what others have added
	KeepDrift  Effect = "keep drift"  // apply it when something is brought out, and leave what changes in between
	Recreate   Effect = "recreate"    // delete and create it where the API server refuses to change it
	Remark     Effect = "remark"      // it has no effect, which is said on the app
)

// Rules are the opt-outs of one dialect.
type Rules []Rule

// Treatment is what one object asks for. Its zero value is the treatment of its app.
type Treatment struct {
	Effect        // NeverApply, CreateOnly, MergeOnly, KeepDrift or none
	Mark   string // what asks for it: "annotation kustomize.toolkit.fluxcd.io/ssa: Ignore", "spec.driftDetection.ignore[0]"
	// Paused is the key of the annotation or label on the live object that asks for NeverApply where Git does not: a person has paused
	// the object.
	Paused string
	// Recreate is what asks to delete and create the object where the API server refuses to change it; empty for nothing.
	Recreate string
	// Remarks say what has no effect, each a sentence.
	Remarks []string
}

// Of reads what an object asks for. live is nil for one that is not in the cluster.
func (all Rules) Of(git, live object.Object) Treatment {
	var t Treatment
	keys := all.keys()
	for _, key := range keys {
		for _, m := range all.marks(key, git) {
			t.ask(m)
		}
	}
	for _, r := range all {
		if r.Match == Selected && t.Effect != CreateOnly && r.Objects.Matches(git) { // what is only created is left in any case
			t.ask(mark{r, r.Key, true})
		}
	}
	for _, key := range keys {
		for _, m := range all.marks(key, live) {
			if m.Effect == NeverApply && t.Effect != NeverApply {
				t.Effect, t.Mark, t.Paused = m.Effect, m.text, key
			}
		}
	}
	return t
}

// Asking is an annotation by which an object may ask for an effect, as KEY: VALUE; empty where the dialect has none for it.
func (all Rules) Asking(e Effect) string {
	for _, r := range all {
		if r.Effect == e {
			return r.Key + ": " + r.Value
		}
	}
	return ""
}

// mark is a value that an object bears. The zero Rule in it is a value that the dialect does not know.
type mark struct {
	Rule
	text  string // "annotation key: value"
	known bool
}

// ask adds what one of Git's marks asks for. NeverApply goes over the others.
func (t *Treatment) ask(m mark) {
	switch {
	case !m.known:
		t.Remarks = append(t.Remarks, m.text+" has no effect: no such value")
	case m.Effect == Recreate:
		t.Recreate = m.text
	case m.Effect == Remark:
		t.Remarks = append(t.Remarks, m.text+" "+m.Why)
	case m.Effect != "" && t.Effect != NeverApply:
		t.Effect, t.Mark = m.Effect, m.text
	}
}

func (all Rules) keys() []string {
	var out []string
	for _, o := range all {
		if o.Match != Selected && !slices.Contains(out, o.Key) {
			out = append(out, o.Key)
		}
	}
	return out
}

// marks lists what an object says under one key. An empty value says nothing.
func (all Rules) marks(key string, o object.Object) []mark {
	var out []mark
	if text, there := o.Annotation(key); there {
		for _, value := range all.values(key, text) {
			out = append(out, all.mark("annotation", key, value))
		}
	}
	if text, there := o.Label(key); there && text != "" && all.match(key) == Word {
		out = append(out, all.mark("label", key, text))
	}
	return out
}

func (all Rules) values(key, text string) []string {
	if all.match(key) == Item {
		return ListItems(text)
	}
	if text == "" {
		return nil
	}
	return []string{text}
}

// ListItems are the items of a comma-separated list, as Argo CD reads its annotations.
func ListItems(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}

func (all Rules) match(key string) Match {
	i := slices.IndexFunc(all, func(o Rule) bool { return o.Key == key })
	return all[i].Match
}

// mark finds what a value means: by itself, else by the name before its =.
func (all Rules) mark(what, key, value string) mark {
	name, _, _ := strings.Cut(value, "=")
	text := what + " " + key + ": " + value
	for _, want := range []string{value, name} {
		for _, o := range all {
			if o.Key == key && (o.Value == want || o.Match == Word && strings.EqualFold(o.Value, want)) {
				return mark{o, text, true}
			}
		}
	}
	return mark{text: text}
}
