package view

import (
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// refusals are the kinds of apps that the user may not list, as far as the calls of one command have met them.
type refusals struct {
	mu  sync.Mutex
	all []string // what the API server said
}

// note takes an error that is such a refusal, and reports whether it is one.
func (r *refusals) note(gvk object.GVK, err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	text := "apps of kind " + gvk.Kind + " are left out: " + redact.MaskText(err.Error())
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.all, text) {
		r.all = append(r.all, text)
	}
	return true
}

// none makes the error of a user who may list no kind of app. It takes the place of what was noted of each kind: what a note leaves out is
// nothing beside what is there.
func (r *refusals) none(why error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
	return fmt.Errorf("list apps: you may list no kind of them: %w", why)
}

// Refused says which kinds of apps were left out so far because the user may not list them, and why.
func (c *Cluster) Refused() []string {
	c.refused.mu.Lock()
	defer c.refused.mu.Unlock()
	return slices.Sorted(slices.Values(c.refused.all))
}
