package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// refuseIfAboutNothing ends an operation about some of the objects, none of which the app has: it would succeed without having done anything. Nothing is written
// in the rest of the run; what a run without the request writes is left to the next one.
func (r *appRun) refuseIfAboutNothing() {
	if !r.isAboutNothing() {
		return
	}
	var names []string
	for _, id := range r.app.SyncRequest.Objects {
		names = append(names, id.String())
	}
	why := fmt.Sprintf("none of the objects that it names is described in Git or was applied: %s", strings.Join(names, ", "))
	r.asked.SyncRequest.Refused = why
	r.purpose.leave()
	r.endRollout(report.SpecRefused, why)
	r.app = r.asked.BetweenRollouts()
	r.app.Policy.Mode = policy.Await
	r.setPolicy(r.app)
}

// isAboutNothing reports whether a request names objects, and the app has none of them. An object that could not be taken into the revision has a problem,
// which ends the operation.
func (r *appRun) isAboutNothing() bool {
	request := r.app.SyncRequest
	if r.purpose != rollingOut || len(request.Objects) == 0 || len(r.problems) > 0 {
		return false
	}
	covers := func(o desired.Object) bool { return request.Covers(o.ID) }
	return !slices.ContainsFunc(r.set.Objects, covers) && !slices.ContainsFunc(r.set.Skipped, covers) &&
		!slices.ContainsFunc(r.inventory.Entries, func(e inventory.Entry) bool { return request.Covers(e.ID) })
}
