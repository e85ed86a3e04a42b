package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// shortDialect is a dialect of which a status may be larger than the API server stores.
type shortDialect interface {
	// ShortStatus is Status without lists that the dialect's users can do without: the more of them the higher the step is, which begins at 1. It is nil
	// beyond the last step.
	ShortStatus(cr object.Object, r report.Report, step int) map[string]any
}

// status is the status of a report: the longest form that the API server is not known to refuse, or the shortest one.
func (e *appEntry) status(r report.Report) object.Object {
	next := object.Object(e.front.Status(e.cr, r))
	front, ok := e.front.(shortDialect)
	for step := 1; ok && e.tooLarge > 0 && lengthOf(next) >= e.tooLarge; step++ {
		shorter := front.ShortStatus(e.cr, r, step)
		if shorter == nil {
			break
		}
		next = shorter
	}
	return next
}

// lengthOf is how many bytes a status has as JSON.
func lengthOf(status object.Object) int { return len(fingerprintOf(status)) }

// isTooLarge reports whether the API server refused a write because of its size. It refuses requests of more than 3 MiB itself. What etcd (1.5 MiB) or its own
// client of etcd (2 MiB) refuses it passes on as an unknown error with their text (isTooLargeError of k8s.io/apiserver 1.37).
func isTooLarge(err error) bool {
	if err == nil {
		return false
	}
	isPassedOn := slices.ContainsFunc(etcdRefusals, func(text string) bool { return strings.Contains(err.Error(), text) })
	return isPassedOn || apierrors.IsRequestEntityTooLargeError(err)
}

var etcdRefusals = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// retryTooLarge is the pause before a status is sent again that was too large in its shortest form: it is megabytes.
const retryTooLarge = 5 * time.Minute

// pauseAfter is the pause before a status that could not be written is sent again.
func pauseAfter(err error) time.Duration {
	if isTooLarge(err) {
		return retryTooLarge
	}
	return time.Second
}
