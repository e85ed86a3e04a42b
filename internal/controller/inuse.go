package controller

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// InUse lists the kinds of which an app has objects, and the label that all of these bear; empty where some do not, since observing
// writes none. A truce that works for some namespaces alone says where they lie; none for everywhere.
func (c *Controller) InUse() (all []object.GVK, mark string, namespaces []string) {
	return c.targets.own.kinds.inUse()
}

func (k *kinds) inUse() (all []object.GVK, mark string, namespaces []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mark = desired.PartOf
	for p, w := range k.watches {
		if !slices.Contains(all, p.gvk) {
			all = append(all, p.gvk)
		}
		if k.limited && p.namespace != "" && !slices.Contains(namespaces, p.namespace) {
			namespaces = append(namespaces, p.namespace)
		}
		if w.interest.Selector != desired.PartOf {
			mark = ""
		}
	}
	slices.Sort(namespaces)
	return all, mark, namespaces
}

// onWatchesChanged implements kindListener.
func (t *target) onWatchesChanged() { t.c.Observer.OnKindsChanged() }
