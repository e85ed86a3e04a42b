package attribution

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// scaling are the events by which autoscalers say to what they have scaled.
var scaling = map[string]*regexp.Regexp{
	"SuccessfulRescale":          regexp.MustCompile(`New size: (\d+);`),    // the HPA controller (pkg/controller/podautoscaler/horizontal.go)
	"KEDAScaleTargetActivated":   regexp.MustCompile(`from \d+ to (\d+)\b`), // KEDA (pkg/scaling/executor/scale_scaledobjects.go)
	"KEDAScaleTargetDeactivated": regexp.MustCompile(`from \d+ to (\d+)\b`),
}

// followers are controllers that report a change on the object and did not make it.
var followers = []string{
	"truce", "deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller", "replication-controller",
	"service-controller", "endpoint-controller", "horizontal-pod-autoscaler", "default-scheduler", "kubelet", "controllermanager",
}

// lately is how old an event may be that is to explain what is live.
const lately = 2 * time.Minute

// byEvents goes by what controllers say of their own writes: a claimant that reports the same number is recorded; another controller that
// reports anything about the object at that time is inferred where no other writer is known.
func (c Case) byEvents(events []Event, w ownership.Writer) ownership.Writer {
	if w.Evidence == ownership.Recorded && !isSharedName(w.Name) || c.Hold != "" {
		return w
	}
	events = newestFirst(events)
	if i := slices.IndexFunc(events, c.scales); i >= 0 {
		e := events[i] // only the newest says what it left
		if n, _ := e.count(); !field.EqualValues(n, c.Live.Reveal()) || e.At.Before(c.CorrectedAt) || e.At.Before(c.Before.Truncate(time.Second)) {
			return w
		}
		return ownership.Writer{
			Name: c.Scaler.Name, Manager: w.Manager, Operation: w.Operation, Subresource: "scale", Time: e.At, Evidence: ownership.Recorded,
			Because: append(slices.Clone(w.Because), e.testimony()),
		}
	}
	if w.Evidence != ownership.Unknown || c.Scaler.Writes() {
		return w
	}
	for _, e := range events {
		if e.Reporter != "" && !slices.Contains(followers, e.Reporter) && !e.At.Before(c.CorrectedAt) && e.At.Add(lately).After(c.Now) {
			return ownership.Writer{Name: e.Reporter, Time: e.At, Evidence: ownership.Inferred, Because: []string{e.testimony()}}
		}
	}
	return w
}

// scales reports whether the claimant reports by the event that it has scaled, or one that it made for itself (KEDA makes an HPA).
func (c Case) scales(e Event) bool {
	_, counts := e.count()
	return counts && c.Scaler.Writes() && e.About.Namespace == c.Scaler.ID.Namespace && (e.About.Name == c.Scaler.ID.Name || e.About.Name == "keda-hpa-"+c.Scaler.ID.Name)
}

func (e Event) count() (int64, bool) {
	form, ok := scaling[e.Reason]
	if !ok {
		return 0, false
	}
	m := form.FindStringSubmatch(e.Message)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}

func (e Event) testimony() string {
	const most = 160
	message := redact.MaskText(e.Message)
	if len(message) > most {
		message = message[:most] + "…"
	}
	return fmt.Sprintf("events: %s of %s %s/%s: %s", e.Reason, e.About.Kind, e.About.Namespace, e.About.Name, message)
}

func newestFirst(events []Event) []Event {
	out := slices.Clone(events)
	slices.SortStableFunc(out, func(a, b Event) int { return b.At.Compare(a.At) })
	return out
}
