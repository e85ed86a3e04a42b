package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// PodTrouble returns why pods do not work, such as "CrashLoopBackOff: container web of pod web-0 ends with exit code 1", for the pod
// whose trouble explains most, and how many share it. It is empty where no pod reports trouble. It does not change while
// the same pods stay in the same trouble: it holds no counts, times or back-offs.
func PodTrouble(pods []object.Object) string {
	var all []trouble
	for _, pod := range pods {
		if pod.At("metadata", "deletionTimestamp") != nil {
			continue
		}
		if t, ok := troubleOf(pod); ok {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return ""
	}
	first := slices.MinFunc(all, func(a, b trouble) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.text, b.text))
	})
	same := 0
	for _, t := range all {
		if t.reason == first.reason {
			same++
		}
	}
	if same > 1 {
		return fmt.Sprintf("%s (%d pods)", first, same)
	}
	return first.String()
}

// trouble is what one pod reports.
type trouble struct {
	severity severity
	reason   string // in one word, as kubectl get pods shows it
	text     string
}

func (t trouble) String() string { return t.reason + ": " + t.text }

// severity orders troubles: the first explains most.
type severity int

const (
	misconfigured severity = iota // the kubelet cannot make the container
	noImage
	outOfMemory
	crashing
	failed
	unschedulable
	unready
	starting
)

// troubleOf returns the first trouble of a pod. A pod that works or has succeeded has none.
func troubleOf(pod object.Object) (trouble, bool) {
	if pod.At("status", "phase") == "Succeeded" {
		return trouble{}, false
	}
	var all []trouble
	for _, c := range containersOf(pod) {
		if t, ok := c.trouble(); ok {
			all = append(all, t)
		}
	}
	name := pod.Name()
	if reason := stringAt(pod, "status", "reason"); pod.At("status", "phase") == "Failed" {
		all = append(all, trouble{failed, cmp.Or(reason, "Failed"), joinMessage("pod "+name+" failed", stringAt(pod, "status", "message"))})
	}
	if c := Condition(pod, "PodScheduled"); c["status"] == "False" {
		all = append(all, trouble{unschedulable, cmp.Or(stringAt(c, "reason"), "Pending"), joinMessage("pod "+name, stringAt(c, "message"))})
	}
	if c := Condition(pod, "Ready"); stringAt(c, "reason") == "ReadinessGatesNotReady" {
		all = append(all, trouble{unready, "ReadinessGatesNotReady", joinMessage("pod "+name, stringAt(c, "message"))})
	}
	if len(all) == 0 {
		return trouble{}, false
	}
	return slices.MinFunc(all, func(a, b trouble) int { return cmp.Compare(a.severity, b.severity) }), true
}

// container is the status of one container with its description.
type container struct {
	spec, status object.Object
	pod          string
	role         string // "container" or "init container"
}

// containersOf lists the containers that have a status, init containers first.
func containersOf(pod object.Object) []container {
	var out []container
	for _, kind := range []struct{ specs, statuses, role string }{
		{"initContainers", "initContainerStatuses", "init container"},
		{"containers", "containerStatuses", "container"},
	} {
		specs := map[string]object.Object{}
		for _, s := range objectsIn(pod.At("spec", kind.specs)) {
			specs[stringAt(s, "name")] = s
		}
		for _, s := range objectsIn(pod.At("status", kind.statuses)) {
			out = append(out, container{spec: specs[stringAt(s, "name")], status: s, pod: pod.Name(), role: kind.role})
		}
	}
	return out
}

func (c container) String() string {
	return c.role + " " + stringAt(c.status, "name") + " of pod " + c.pod
}

func (c container) trouble() (trouble, bool) {
	waiting, why := stringAt(c.status, "state", "waiting", "reason"), stringAt(c.status, "state", "waiting", "message")
	switch {
	case strings.HasPrefix(waiting, "ErrImage") || waiting == "ImagePullBackOff" || waiting == "InvalidImageName":
		return trouble{noImage, waiting, joinMessage(c.String()+" needs image "+c.image(), ofImage(why))}, true
	case waiting == "CrashLoopBackOff" || c.status.At("state", "terminated") != nil && !c.isDone():
		return c.ended(cmp.Or(waiting, stringAt(c.status, "state", "terminated", "reason"), "Error")), true
	case IsFailure(waiting):
		return trouble{misconfigured, waiting, joinMessage(c.String(), why)}, true
	case waiting != "" && waiting != "PodInitializing":
		return trouble{starting, waiting, joinMessage(c.String(), why)}, true
	case c.status.At("state", "running") != nil && c.status.At("ready") != true && c.role == "container":
		return c.unready()
	}
	return trouble{}, false
}

// isDone reports whether a container has ended as it should.
func (c container) isDone() bool {
	return fmt.Sprint(c.status.At("state", "terminated", "exitCode")) == "0"
}

// ended is the trouble of a container that does not keep running. The kubelet's message is left out: it counts seconds.
func (c container) ended(reason string) trouble {
	last := object.Object(nil)
	for _, state := range []string{"state", "lastState"} {
		if t, ok := c.status.At(state, "terminated").(map[string]any); ok && last == nil {
			last = t
		}
	}
	if stringAt(last, "reason") == "OOMKilled" {
		return trouble{outOfMemory, "OOMKilled", c.String() + " runs out of " + c.memory()}
	}
	if code := last.At("exitCode"); code != nil {
		return trouble{crashing, reason, fmt.Sprintf("%s ends with exit code %v", c, code)}
	}
	return trouble{crashing, reason, c.String() + " does not keep running"}
}

// unready is the trouble of a container that runs. The kubelet writes only that it is not ready: which probe has not succeeded
// follows from what the container declares. How it ended before is said, not taken for the cause: that may be long ago.
func (c container) unready() (trouble, bool) {
	last, _ := c.status.At("lastState", "terminated").(map[string]any)
	t := trouble{unready, "NotReady", c.String() + " runs and is not ready"}
	switch {
	case c.status.At("started") == false && c.spec.At("startupProbe") != nil:
		t.reason, t.text = "NotStarted", c.String()+" runs, its startup probe does not succeed"
	case c.spec.At("readinessProbe") != nil:
		t.text = c.String() + " runs, its readiness probe does not succeed"
	}
	switch code := last["exitCode"]; {
	case stringAt(last, "reason") == "OOMKilled":
		t.severity, t.reason, t.text = outOfMemory, "OOMKilled", t.text+" since it ran out of "+c.memory()
	case code != nil && fmt.Sprint(code) != "0":
		t.text += fmt.Sprintf(" since it ended with exit code %v", code)
	}
	return t, true
}

// memory is what a container may use of it.
func (c container) memory() string {
	if limit := stringAt(c.spec, "resources", "limits", "memory"); limit != "" {
		return "memory, which is limited to " + limit
	}
	return "memory"
}

func (c container) image() string {
	return cmp.Or(stringAt(c.spec, "image"), stringAt(c.status, "image"))
}

// ofImage is what a registry said: the end of the kubelet's message, which begins with the image's name, several times.
func ofImage(message string) string {
	if at := strings.LastIndex(message, ": "); at >= 0 {
		return strings.TrimSpace(message[at+2:])
	}
	return ""
}

// IsFailure reports whether a reason for which a container waits is an error, and not a step on its way: Err…, …Error, …BackOff.
func IsFailure(waiting string) bool {
	return strings.HasPrefix(waiting, "Err") || strings.HasSuffix(waiting, "Error") || strings.HasSuffix(waiting, "BackOff")
}

// Refused returns why a workload's controller cannot make pods, as its condition ReplicaFailure has it: an exceeded quota, an
// admission webhook, a missing service account. The name of the pod that was to be is left out: it differs with each try.
func Refused(o object.Object) string {
	c := Condition(o, "ReplicaFailure")
	if c["status"] != "True" {
		return ""
	}
	return Refusal(cmp.Or(stringAt(c, "reason"), "ReplicaFailure"), stringAt(c, "message"))
}

// CannotCreate is the reason of Events by which the controllers of workloads report that they may not make a pod.
const CannotCreate = "FailedCreate"

// Refusal is a cause made of a reason and of the API server's message about a pod that it did not take, without the name of that pod.
func Refusal(reason, message string) string {
	if _, after, ok := strings.Cut(message, " is forbidden: "); ok {
		message = after
	}
	return joinMessage(reason, message)
}

// Explained adds to the status of an object that does not work what the object itself reports of its pods.
func Explained(o object.Object, s Status) Status {
	if !s.IsFailing() || s.Cause != "" {
		return s
	}
	if gvk := o.GVK(); gvk.Group == "" && gvk.Kind == "Pod" {
		return s.With(PodTrouble([]object.Object{o}))
	}
	return s.With(Refused(o))
}

// Condition returns the condition of that type in an object's status, nil if there is none.
func Condition(o object.Object, kind string) object.Object {
	for _, c := range objectsIn(o.At("status", "conditions")) {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

// objectsIn are the objects of a list; what is no object is left out.
func objectsIn(list any) []object.Object {
	items, _ := list.([]any)
	out := make([]object.Object, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func stringAt(o object.Object, keys ...string) string {
	s, _ := o.At(keys...).(string)
	return s
}

const longest = 300 // characters of one message of others

// joinMessage is a subject with what others say of it.
func joinMessage(subject, message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return subject
	}
	if r := []rune(message); len(r) > longest {
		message = string(r[:longest]) + "…"
	}
	return subject + ": " + message
}
