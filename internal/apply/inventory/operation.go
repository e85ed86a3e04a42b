package inventory

import (
	"maps"
	"time"

	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// Operation is how far the hooks of an app's newest operation have come. It is written ahead of each hook, so that another process does not run one
// twice. The zero value is none.
type Operation struct {
	Key   string    `json:"key"` // what it brings out, and by which order; a record has nothing of an operation without one
	Began time.Time `json:"began,omitzero"`
	// Content is a hash of the objects and hooks that an automated one brings out; empty for another. Commit is the one that it began with.
	Content string `json:"content,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Tries   int    `json:"tries,omitempty"` // that failed before this one
	// Cause is why it has failed, redacted; empty while it has not.
	Cause  string    `json:"cause,omitempty"`
	Failed time.Time `json:"failed,omitzero"` // since when there is a cause
	Ended  bool      `json:"ended,omitempty"`
	// Terminated is what it brought out, where a person has ended it: nothing brings that out again by itself. Empty for one that was not.
	Terminated string `json:"terminated,omitempty"`
	// Hooks are by their phase and object.
	Hooks map[string]HookRun `json:"hooks,omitempty"`
	// Left are the objects of the hooks that earlier operations have run, the newest last. Some may be gone.
	Left []string `json:"left,omitempty"`
}

// HookRun is how a hook ran in an operation.
type HookRun struct {
	Phase     hook.Phase `json:"phase"`
	Started   time.Time  `json:"started,omitzero"`
	Completed time.Time  `json:"completed,omitzero"`
	Message   string     `json:"message,omitempty"` // why it has failed, redacted
}

// With returns the operation with what is now known of one hook.
func (o Operation) With(key string, run hook.Run) Operation {
	o.Hooks = maps.Clone(o.Hooks)
	if o.Hooks == nil {
		o.Hooks = map[string]HookRun{}
	}
	o.Hooks[key] = HookRun(run)
	return o
}

// notBegun is the operation without how far it has come, and without what hooks have left. That a person has ended it stays: it holds back only.
func (o Operation) notBegun() Operation {
	return Operation{Key: o.Key, Began: o.Began, Content: o.Content, Commit: o.Commit, Tries: o.Tries, Terminated: o.Terminated}
}
