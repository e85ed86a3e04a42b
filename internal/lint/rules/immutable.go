package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

func immutableChanged() rule {
	return rule{Rule: Rule{
		ID: "immutable-changed", Severity: Error,
		Title: "a field that cannot be changed is changed",
		Reason: "Some fields are fixed when the object is made: selectors, the templates of a StatefulSet's volumes and of a Job, the reference of a " +
			"RoleBinding. The server refuses each apply of another value, the object stays as it was, and what waits for it does not come. It is " +
			"found when two revisions are compared (--base REV).",
		Remedy: "Give the new object another name, or delete the old one first and mind what depends on it.",
		Source: "measured on kube-apiserver 1.37: each field of the list was changed by a forced apply, and refused",
	}, check: immutableFindings}
}

// frozen is a field that cannot be changed.
type frozen struct {
	path    string   // names between dots
	absent  any      // what the server makes of none; nil where that is not known
	except  []string // fields below it that can be changed
	kept    bool     // left out it stays as it is
	elastic bool     // of an Indexed Job that runs all at once it can be changed
}

// frozenFields are by group and kind. Each was tried.
var frozenFields = map[string][]frozen{
	"apps/Deployment": {{path: "spec.selector"}},
	"apps/DaemonSet":  {{path: "spec.selector"}},
	"apps/ReplicaSet": {{path: "spec.selector"}},
	"apps/StatefulSet": {
		{path: "spec.selector"}, {path: "spec.serviceName", absent: ""}, {path: "spec.podManagementPolicy", absent: "OrderedReady"},
		{path: "spec.volumeClaimTemplates"},
	},
	"batch/Job": {
		{path: "spec.template"}, {path: "spec.completions", elastic: true}, {path: "spec.completionMode", absent: "NonIndexed"}, {path: "spec.managedBy"},
	},
	"/Service": {{path: "spec.clusterIP", kept: true}, {path: "spec.loadBalancerClass"}},
	"/PersistentVolumeClaim": {
		{path: "spec", except: []string{"resources", "volumeAttributesClassName", "volumeName", "volumeMode"}}, {path: "spec.volumeMode", absent: "Filesystem"},
	},
	"/PersistentVolume": {{path: "spec", except: []string{
		"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName",
		"volumeAttributesClassName", "volumeMode",
	}}, {path: "spec.volumeMode", absent: "Filesystem"}},
	"storage.k8s.io/StorageClass": {
		{path: "provisioner"}, {path: "parameters"}, {path: "reclaimPolicy", absent: "Delete"}, {path: "volumeBindingMode", absent: "Immediate"},
	},
	"storage.k8s.io/CSIDriver":                      {{path: "spec.attachRequired", absent: true}},
	"rbac.authorization.k8s.io/RoleBinding":         {{path: "roleRef"}},
	"rbac.authorization.k8s.io/ClusterRoleBinding":  {{path: "roleRef"}},
	"scheduling.k8s.io/PriorityClass":               {{path: "value"}, {path: "preemptionPolicy", absent: "PreemptLowerPriority"}},
	"networking.k8s.io/IngressClass":                {{path: "spec.controller"}},
	"node.k8s.io/RuntimeClass":                      {{path: "handler"}},
	"discovery.k8s.io/EndpointSlice":                {{path: "addressType"}},
	"apiextensions.k8s.io/CustomResourceDefinition": {{path: "spec.scope"}},
	"/Secret": {{path: "type", absent: "Opaque"}},
}

// isElastic reports whether the completions of a Job may change: it is Indexed, and runs all of them at once.
func isElastic(o object.Object) bool {
	all, named := field.WholeNumber(o.At("spec", "completions"))
	atOnce, _ := field.WholeNumber(valueOrDefault(o.At("spec", "parallelism"), o.At("spec", "parallelism") != nil, int64(1)))
	return named && all == atOnce && o.At("spec", "completionMode") == "Indexed"
}

// sealed are the fields of what says itself that it is immutable.
var sealed = []frozen{{path: "immutable"}, {path: "data"}, {path: "binaryData"}}

func immutableFindings(j *checker) []Finding {
	if j.base == nil {
		return nil
	}
	before := j.before()
	var out []Finding
	for d := range j.described() {
		if was, ok := before(d); ok && !d.neverChanged() {
			out = append(out, j.frozenIn(d, was)...)
		}
	}
	return out
}

// before finds what an object was in the base: the only one that inBase finds.
func (j *checker) before() func(described) (object.Object, bool) {
	all := j.inBase()
	return func(d described) (object.Object, bool) {
		found := all(d)
		if len(found) != 1 {
			return nil, false
		}
		return found[0].object.Data, true
	}
}

// inBase finds what may be an object in the base: those of its name in the units of the same name, or, if there was no such unit, in all.
// Apps of two clusters may have one name.
func (j *checker) inBase() func(described) []described {
	type key struct {
		unit string
		id   object.ID
	}
	units, all := map[string]bool{}, map[key][]described{}
	for i := range j.base.Units {
		u := &j.base.Units[i]
		units[u.Name()] = true
		for k := range u.Objects {
			d := described{u, &u.Objects[k]}
			for _, name := range []string{u.Name(), ""} {
				all[key{name, d.id()}] = append(all[key{name, d.id()}], d)
			}
		}
	}
	return func(d described) []described {
		name := d.unit.Name()
		if !units[name] {
			name = ""
		}
		return all[key{name, d.id()}]
	}
}

func (j *checker) frozenIn(d described, was object.Object) []Finding {
	gvk := d.object.GVK
	list := frozenFields[gvk.Group+"/"+gvk.Kind]
	if flag, _ := was["immutable"].(bool); flag && gvk.Group == "" && (gvk.Kind == "ConfigMap" || gvk.Kind == "Secret") {
		list = slices.Concat(list, sealed)
	}
	var out []Finding
	for _, f := range list {
		if f.elastic && isElastic(d.object.Data) {
			continue
		}
		for _, p := range f.paths(was, d.object.Data) {
			if message, sev := f.changed(p, was, d.object.Data); message != "" {
				out = append(out, j.frozenFinding(d, p, message, sev))
			}
		}
	}
	return append(out, j.shrunk(d, was)...)
}

// paths are those that the field stands for: itself, or all below it but the exceptions.
func (f frozen) paths(was, now object.Object) []field.Path {
	p := field.NewPath(strings.Split(f.path, ".")...)
	if f.except == nil {
		return []field.Path{p}
	}
	names := map[string]bool{}
	for _, o := range []object.Object{was, now} {
		v, _ := field.ValueAt(o, p)
		m, _ := v.(map[string]any)
		for name := range m {
			names[name] = !slices.Contains(f.except, name)
		}
	}
	var out []field.Path
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			out = append(out, append(slices.Clip(p), *element(name)))
		}
	}
	return out
}

// changed says how the field differs; nothing where it does not. What the server has filled in on one side is not in Git.
func (f frozen) changed(p field.Path, was, now object.Object) (string, Severity) {
	from, before := field.ValueAt(was, p)
	to, after := field.ValueAt(now, p)
	if f.absent != nil {
		from, to = valueOrDefault(from, before, f.absent), valueOrDefault(to, after, f.absent)
		before, after = true, true
	}
	switch {
	case field.EqualValues(from, to), !before && !after, !after && f.kept:
		return "", ""
	case !before:
		return "is set to " + shownValue(now.ID(), p, to) + "; it was not", Warning
	case !after:
		return "is left out; it was " + shownValue(was.ID(), p, from), Warning
	}
	return "was " + shownValue(was.ID(), p, from) + ", is " + shownValue(now.ID(), p, to), Error
}

func valueOrDefault(v any, there bool, otherwise any) any {
	if there {
		return v
	}
	return otherwise
}

// shownValue is a value for a message: a single one as it is, if it is no secret.
func shownValue(id object.ID, p field.Path, v any) string {
	switch v := (redact.Mask{}).Value(id, p, v).(type) {
	case map[string]any, []any:
		return "something else"
	default:
		return fmt.Sprint(v)
	}
}

func (j *checker) frozenFinding(d described, p field.Path, message string, sev Severity) Finding {
	f := j.finding(d, p)
	f.Severity = sev
	if strings.Contains(message, "something else") {
		message = "is changed"
	}
	f.Message = fmt.Sprintf("%s: %s %s: the server refuses that", d.called(), field.PathString(p), message)
	f.Remedy = "put back what was, or give the new object another name"
	if d.replaced() {
		f.Severity = Warning
		f.Message = fmt.Sprintf("%s: %s %s: it is deleted and created again", d.called(), field.PathString(p), message)
		f.Remedy = "make sure that nothing is lost with the old one"
	}
	return f
}

// neverChanged reports whether no apply changes the object once it is there: it is not written again, or is a hook, which is made for each
// sync. The hooks of an Application are not among its objects.
func (d described) neverChanged() bool {
	if d.unit.Dialect != discover.Bare {
		return d.leftAlone()
	}
	_, ofSync := d.object.Data.Annotation("argocd.argoproj.io/hook")
	event, ofChart := d.object.Data.Annotation("helm.sh/hook")
	return isNotRewritten(eitherTool.Of(d.object.Data, nil)) || ofSync || ofChart && event != "crd-install"
}

// replaced reports whether the app or the object asks that what cannot be changed is deleted and created again.
func (d described) replaced() bool {
	asks := d.unit.App.OptOuts
	if d.unit.Dialect == discover.Bare {
		asks = eitherTool
	}
	return d.unit.App.Recreate || asks.Of(d.object.Data, nil).Recreate != ""
}

// eitherTool are the marks of both: of a bare root it is not known which tool applies it.
var eitherTool = slices.Concat(
	flux.Kustomizations{}.App(object.Object{}, policy.Policy{}).OptOuts, argocd.Applications{}.App(object.Object{}, policy.Policy{}).OptOuts,
)

// shrunk: a claim can only grow.
func (j *checker) shrunk(d described, was object.Object) []Finding {
	if d.object.GVK.Group != "" || d.object.GVK.Kind != "PersistentVolumeClaim" {
		return nil
	}
	p := field.NewPath("spec", "resources", "requests", "storage")
	from, to := storageAmount(was, p), storageAmount(d.object.Data, p)
	if from == nil || to == nil || to.Cmp(*from) >= 0 {
		return nil
	}
	return []Finding{j.frozenFinding(d, p, fmt.Sprintf("was %s, is %s", from, to), Error)}
}

func storageAmount(o object.Object, p field.Path) *resource.Quantity {
	v, ok := field.ValueAt(o, p)
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	if !ok || err != nil {
		return nil
	}
	return &q
}
