package stories

import (
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The promises that each trial is judged by, of DESIGN.md, section 8.
const (
	endState    = "the same end state as without a fault"
	noFlap      = "no value of a Deployment that a run without a fault never has, no count lowered"
	noDelete    = "nothing is deleted that a run without a fault does not delete; each delete has the uid and the resourceVersion of its object"
	accountable = "the inventory lists exactly what Git wants and what is there"
	honestReady = "Ready is not said before what Git wants is there"
	noSteady    = "no write of users' objects once all is as it should be"
)

var promises = []string{endState, noFlap, noDelete, accountable, honestReady, noSteady, oneWriter}

// holds makes a check and notes the promise where it fails.
func (x *trial) holds(s *stage, promise string, check func()) {
	s.t.Helper()
	before := s.t.Failed()
	defer func() { // a check may end the test
		if !before && s.t.Failed() {
			x.Broken = append(x.Broken, promise)
		}
	}()
	check()
}

// judge asks an independent watch and the audit log.
func (x *trial) judge(s *stage, of scene, whole outcome, from int) {
	s.t.Helper()
	x.holds(s, endState, func() {
		s.looksLike(whole.end)
		of.settled(s)
		s.looksLike(whole.end)
	})
	x.Struck = s.toll.disarm()
	var written []kubetest.Entry
	x.holds(s, noSteady, func() { written = s.unwritten() })
	x.holds(s, accountable, func() { s.accountedFrom(s.pictured, of.objects) })
	x.holds(s, noDelete, func() { s.deletedAtMost(whole.deleted, written) })
	values := s.deployments.Values()
	x.holds(s, noFlap, func() {
		for spec := range s.specs(values, from) {
			if !whole.specs[spec] {
				s.t.Errorf("the Deployment once was, as without a fault it never is: %s", spec)
			}
		}
		s.unchanged()
		if of.floor > 0 {
			countsIn(s.t, values[from:], of.floor)
		}
	})
	if s.pair != nil {
		x.holds(s, oneWriter, func() { s.pair.oneWriterATerm() })
	}
	x.holds(s, honestReady, func() { s.readyWas(whole, values) })
	x.holds(s, endState, func() { of.autoscales(s, from) })
}

// written are truce's writes of users' objects so far, by the audit log.
func (s *stage) written() []kubetest.Entry {
	s.t.Helper()
	return s.AuditIn(s.t, s.ns, func(e kubetest.Entry) bool {
		users := slices.Contains([]string{"deployments", "configmaps", "services", "serviceaccounts", "horizontalpodautoscalers"}, e.Resource.Resource)
		return e.Writes() && users && strings.HasPrefix(e.Agent, "truce/") && !strings.HasPrefix(e.Name, "truce-")
	})
}

// unwritten checks that truce, at rest, writes no object of users any more, whatever it does for itself. It returns all writes until now.
func (s *stage) unwritten() []kubetest.Entry {
	s.t.Helper()
	before := len(s.written())
	s.quiet()
	all := s.written()
	for _, e := range all[before:] {
		s.t.Errorf("truce at rest writes: %s %s/%s", e.Verb, e.Resource.Resource, e.Name)
	}
	return all
}

// deleted are the objects that truce has deleted, by kind and name.
func (s *stage) deleted() map[string]bool {
	s.t.Helper()
	out := map[string]bool{}
	for _, e := range s.written() {
		if e.Verb == "delete" || e.Verb == "deletecollection" {
			out[e.Resource.Resource+"/"+e.Name] = true
		}
	}
	return out
}

// deletedAtMost checks each delete against those of a run without a fault.
func (s *stage) deletedAtMost(want map[string]bool, written []kubetest.Entry) {
	s.t.Helper()
	for _, e := range written {
		if e.Verb != "delete" && e.Verb != "deletecollection" {
			continue
		}
		if !want[e.Resource.Resource+"/"+e.Name] {
			s.t.Errorf("truce has deleted %s/%s", e.Resource.Resource, e.Name)
		}
	}
	for _, request := range s.toll.unsafeDeletes() {
		s.t.Errorf("without preconditions: %s", request)
	}
}

// readyWas checks each time at which the app said that it is Ready at a revision, against the Deployment of that moment. resourceVersions of one
// API server are in one order over all kinds.
func (s *stage) readyWas(whole outcome, values []kubetest.Value) {
	s.t.Helper()
	if s.apps == nil || s.leaving() {
		return
	}
	last, apps := "", s.apps.Values()
	for _, v := range apps {
		if revision, ok := readyAt(v.Object); ok {
			last = revision
		}
	}
	for _, v := range apps {
		revision, ok := readyAt(v.Object)
		if !ok || revision != last {
			continue
		}
		d := valueAt(values, v.Object.GetResourceVersion())
		if d == nil {
			s.t.Errorf("Ready at %s before there is a Deployment", revision)
			continue
		}
		want := imageOf(whole.deployment)
		if got := imageOf(d); got != want {
			s.t.Errorf("Ready at %s with image %s, and Git wants %s", revision, got, want)
		}
	}
}

// readyAt is the revision at which a Kustomization says it is Ready.
func readyAt(o *unstructured.Unstructured) (revision string, ok bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, _ := c.(map[string]any); m["type"] == "Ready" && m["status"] == "True" {
			revision, _, _ = unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
			return revision, true
		}
	}
	return "", false
}

func imageOf(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		if m, _ := c.(map[string]any); m != nil {
			image, _ := m["image"].(string)
			return image
		}
	}
	return ""
}

// valueAt is an object as it was at a resourceVersion; nil for none.
func valueAt(values []kubetest.Value, version string) (at *unstructured.Unstructured) {
	for _, v := range values {
		if versionOf(v.Object.GetResourceVersion()) < versionOf(version) {
			at = v.Object
		}
	}
	return at
}

// versionOf is a resourceVersion as the number that it is (KEP-5504); 0 for none.
func versionOf(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
