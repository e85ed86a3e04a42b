package adhoc

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// MatchObjects finds the live object of each that Git describes, without a server: Git's may leave its namespace out. namespace is
// then that of the command; if that is empty too, an object of the same kind and name that is the only one is meant.
func MatchObjects(git []render.Object, live object.Set, namespace string) ([]Subject, error) {
	m := matcher{known: live, named: map[object.ID][]object.ID{}, namespace: namespace}
	for id := range live {
		m.named[unplaced(id)] = append(m.named[unplaced(id)], id)
	}
	seen := map[object.ID]render.Object{}
	var out []Subject
	for _, r := range git {
		s, err := m.subject(r)
		if err != nil {
			return nil, &render.Error{File: r.File, Line: r.Line, Err: err}
		}
		if first, ok := seen[s.Desired.ID]; ok {
			return nil, duplicateError(s.Desired.ID, first, r)
		}
		seen[s.Desired.ID] = r
		out = append(out, s)
	}
	return out, nil
}

// SplitNameless returns what is reported of the objects with generateName, and the other ones: only those can be compared.
func SplitNameless(git []render.Object) (reported []report.Object, named []render.Object) {
	for _, r := range git {
		if !r.Data.IsGenerated() {
			named = append(named, r)
			continue
		}
		reported = append(reported, report.Object{
			ID: r.Data.ShownID(), Version: r.Data.GVK().Version, File: r.File, Line: r.Line,
			Problem: r.Nameless().Error(), Health: health.Status{Code: health.Missing},
		})
	}
	return reported, named
}

// UniqueObjects returns the objects by what they are called, without those that have generateName. One that is there twice is an error with both places.
func UniqueObjects(list []render.Object) (object.Set, error) {
	out, first := make(object.Set, len(list)), make(map[object.ID]render.Object, len(list))
	for _, r := range list {
		if r.Data.IsGenerated() {
			continue
		}
		id := r.Data.ID()
		if f, ok := first[id]; ok {
			return nil, duplicateError(id, f, r)
		}
		out[id], first[id] = r.Data, r
	}
	return out, nil
}

func duplicateError(id object.ID, first, second render.Object) error {
	return &render.Error{File: second.File, Line: second.Line, Err: fmt.Errorf("%s is already at %s:%d", id, first.File, first.Line)}
}

type matcher struct {
	known     object.Set
	named     map[object.ID][]object.ID // by all but the namespace
	namespace string
}

func unplaced(id object.ID) object.ID {
	id.Namespace = ""
	return id
}

func (m matcher) subject(r render.Object) (Subject, error) {
	data := desired.Sanitise(r.Data)
	ns, err := m.place(data.ID())
	if err != nil {
		return Subject{}, err
	}
	if ns != "" {
		data.Metadata()["namespace"] = ns
	}
	o := desired.Object{ID: data.ID(), GVK: data.GVK(), Data: data, File: r.File, Line: r.Line}
	return Subject{Desired: o, Live: m.known[o.ID]}, nil
}

// place returns the namespace of one of Git's objects.
func (m matcher) place(id object.ID) (string, error) {
	if id.Namespace != "" {
		return id.Namespace, nil
	}
	found := m.named[id]
	for _, other := range found {
		if other.Namespace == "" || other.Namespace == m.namespace {
			return other.Namespace, nil
		}
	}
	switch {
	case m.namespace != "" && !clusterWide(id):
		return m.namespace, nil
	case len(found) > 1:
		return "", fmt.Errorf("%s names no namespace, and is live in %d: say which with -n", id, len(found))
	case len(found) == 1:
		return found[0].Namespace, nil
	}
	return m.only(id), nil
}

// only is the one namespace of all that is live, for an object that is not: it will most likely come there.
func (m matcher) only(id object.ID) string {
	if clusterWide(id) {
		return ""
	}
	out := ""
	for other := range m.known {
		if out != "" && other.Namespace != "" && other.Namespace != out {
			return ""
		}
		if other.Namespace != "" {
			out = other.Namespace
		}
	}
	return out
}

// clusterKinds are Kubernetes' own kinds without a namespace.
var clusterKinds = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"CustomResourceDefinition": true, "APIService": true, "StorageClass": true, "IngressClass": true, "PriorityClass": true,
	"RuntimeClass": true, "CSIDriver": true, "MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "FlowSchema": true, "PriorityLevelConfiguration": true,
	"MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true, "VolumeAttributesClass": true, "CSINode": true, "VolumeAttachment": true,
	"DeviceClass": true, "DeviceTaintRule": true, "ResourceSlice": true, "CertificateSigningRequest": true, "ClusterTrustBundle": true,
	"ServiceCIDR": true, "IPAddress": true, "StorageVersionMigration": true, "StorageVersion": true, "ComponentStatus": true,
	"TokenReview": true, "SelfSubjectReview": true, "SubjectAccessReview": true, "SelfSubjectAccessReview": true, "SelfSubjectRulesReview": true,
}

// BuiltinScope returns the scope of a kind without asking a server: Unserved for a kind that is not Kubernetes' own.
func BuiltinScope(gvk object.GVK) desired.Scope {
	switch {
	case !desired.IsBuiltInGroup(gvk.Group):
		return desired.Unserved
	case clusterKinds[gvk.Kind]:
		return desired.ClusterWide
	}
	return desired.Namespaced
}

// clusterWide reports whether the kind has no namespace, or may have none: only its CRD says.
func clusterWide(id object.ID) bool {
	return clusterKinds[id.Kind] || !desired.IsBuiltInGroup(id.Group)
}

func otherVersion(s Subject) error {
	gvk := s.Desired.GVK
	return fmt.Errorf("live is %s, and Git names %s: the fields of two versions cannot be compared; read it as %s",
		s.Live.APIVersion(), gvk.APIVersion(), gvk.APIVersion())
}
