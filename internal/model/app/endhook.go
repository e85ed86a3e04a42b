package app

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// AsksForHooks reports whether hooks of an event run when the app is deleted.
func (a App) AsksForHooks(event hook.Event) bool {
	return slices.ContainsFunc(a.EndHooks, func(h hook.End) bool { return h.Event == event && h.Asked })
}

// AsksForEndHooks reports whether any hooks run when the app is deleted.
func (a App) AsksForEndHooks() bool {
	return slices.ContainsFunc(a.EndHooks, func(h hook.End) bool { return h.Asked })
}

// WithEndHooks are finalizers of the custom resource of an app that has hooks of these events, and of no other ones.
func (a App) WithEndHooks(finalizers []string, has []hook.Event) []string {
	out := slices.Clone(finalizers)
	for _, h := range a.EndHooks {
		for _, name := range h.Finalizers {
			on := slices.Contains(out, name)
			switch wanted := slices.Contains(has, h.Event); {
			case wanted && !on:
				out = append(out, name)
			case !wanted && on:
				out = slices.DeleteFunc(out, func(n string) bool { return n == name })
			}
		}
	}
	return out
}
