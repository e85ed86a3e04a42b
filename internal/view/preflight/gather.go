package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/controller/admission"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile/served"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/view/othercontroller"
	"github.com/truce-gitops/truce/internal/view/resource"
	"github.com/truce-gitops/truce/internal/view/uninstall"
)

// installationLabels is the label selector of the controller's Deployment, as deploy/base has it.
const installationLabels = "app.kubernetes.io/name=truce,app.kubernetes.io/component=controller"

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// GatherFacts reads the facts that a check judges. Only an API server that does not answer is an error; what cannot be read besides is in the Facts.
func GatherFacts(ctx context.Context, c *cluster.Client) (Facts, error) {
	x := &inspection{cluster: c, live: list.Reader{Cluster: c}, facts: Facts{Unread: map[string]string{}}}
	var err error
	if x.facts.Server, err = c.Version(ctx); err != nil {
		return Facts{}, err
	}
	for _, part := range []struct {
		check  string
		gather func(context.Context) error
	}{
		{"controller", x.installation}, {"permissions", x.permissions}, {"definitions", x.definitions},
		{"clock", x.clocks}, {"other instances", x.overlaps}, {"other controllers", x.others}, {"webhooks", x.webhooks},
	} {
		if err := part.gather(ctx); err != nil {
			x.facts.Unread[part.check] = err.Error()
		}
	}
	if x.facts.Git.Program, err = git.Program(); err != nil {
		x.facts.Git.Problem = err.Error()
	}
	return x.facts, nil
}

// inspection gathers facts.
type inspection struct {
	cluster    *cluster.Client
	live       list.Reader
	namespaces cluster.Namespaces // that the installed controller works for
	runtime    string             // its --runtime-namespace
	facts      Facts
}

func (x *inspection) installation(ctx context.Context) error {
	found, err := x.cluster.Dynamic().Resource(deployments).List(ctx, metav1.ListOptions{LabelSelector: installationLabels})
	if err != nil || len(found.Items) == 0 {
		return err
	}
	x.facts.Installed = x.deployed(found.Items[0].Object)
	for _, u := range found.Items[1:] {
		x.compareState(u.Object)
	}
	return nil
}

// compareState looks for a second Deployment that has its state where the first one has, and is no more of it.
func (x *inspection) compareState(d object.Object) {
	other := &inspection{}
	second, first := other.deployed(d), x.facts.Installed
	own, _, _ := strings.Cut(first.Deployment, "/")
	at := other.home(d.Namespace())
	if at != x.home(own) || slices.Equal(slices.Sorted(slices.Values(x.namespaces)), slices.Sorted(slices.Values(other.namespaces))) {
		return
	}
	x.facts.SharedStates = append(x.facts.SharedStates, SharedState{"Deployment " + first.Deployment, "Deployment " + second.Deployment, at})
}

// deployed is what a Deployment of the controller says, the namespaces of its flags included.
func (x *inspection) deployed(d object.Object) *Installation {
	i := &Installation{
		Deployment: d.Namespace() + "/" + d.Name(),
		Account:    d.Namespace() + "/" + cmp.Or(d.StringAt("spec", "template", "spec", "serviceAccountName"), "default"),
	}
	i.Ready, _ = d.At("status", "readyReplicas").(int64)
	i.Wanted, _ = d.At("spec", "replicas").(int64)
	containers, _ := d.At("spec", "template", "spec", "containers").([]any)
	for _, container := range containers {
		o, _ := container.(map[string]any)
		args, _ := o["args"].([]any)
		for n, a := range args {
			flag, value, joined := strings.Cut(fmt.Sprint(a), "=")
			if !joined && n+1 < len(args) && flag != multiTenant { // a switch takes no argument
				value = fmt.Sprint(args[n+1])
			}
			x.flag(i, flag, value)
		}
	}
	return i
}

const multiTenant = "--multi-tenant"

// flag takes in a flag of the installed controller.
func (x *inspection) flag(i *Installation, flag, value string) {
	switch flag {
	case "--mode":
		i.Observes = value == string(policy.Observe)
	case multiTenant, "--default-service-account":
		if value != "false" && (value != "" || flag == multiTenant) {
			i.Tenants = flag
		}
	case "--namespace":
		x.namespaces = append(x.namespaces, strings.Split(value, ",")...)
	case "--runtime-namespace":
		x.runtime = value
	}
}

// home is the namespace of what is about the installed controller itself; own is that of its Deployment.
func (x *inspection) home(own string) string { return x.namespaces.Home(x.runtime, own) }

// definitions looks at the kinds that truce reads.
func (x *inspection) definitions(ctx context.Context) error {
	kinds := registry.CustomResources()
	for _, k := range resource.AllKinds() {
		if k.Notifies {
			kinds = append(kinds, k.GVK)
		}
	}
	for _, gvk := range kinds {
		d := Definition{Kind: gvk.Kind + "." + gvk.Group, Version: gvk.Version}
		res, err := x.cluster.Resource(gvk)
		switch {
		case errors.Is(err, live.ErrUnknownKind):
			x.facts.Definitions = append(x.facts.Definitions, d)
			continue
		case err != nil:
			return err
		}
		d.Served = true
		crd, err := x.live.Get(ctx, served.CRDs, object.ID{Group: served.CRDs.Group, Kind: served.CRDs.Kind, Name: res.GVR.Resource + "." + gvk.Group})
		if err != nil && !errors.Is(err, live.ErrNotFound) && !apierrors.IsForbidden(err) {
			return err
		}
		if err == nil {
			d.Owner, d.Drops = ownerOf(crd), flux.Definitions{}.DroppedFields(crd)
		}
		x.facts.Definitions = append(x.facts.Definitions, d)
	}
	return nil
}

// ownerOf says who has installed a definition: what its labels name, else who has written its specification.
func ownerOf(crd object.Object) string {
	for _, key := range []string{"app.kubernetes.io/part-of", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"} {
		if v, ok := crd.Label(key); ok {
			return v
		}
	}
	if v, ok := crd.Annotation("meta.helm.sh/release-name"); ok {
		return "Helm release " + v
	}
	entries, _ := crd.At("metadata", "managedFields").([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if _, spec := object.Object(entry).At("fieldsV1", "f:spec").(map[string]any); spec {
			return fmt.Sprint(entry["manager"])
		}
	}
	return ""
}

// clocks compares this machine's clock with the API server's, and the controller's by its Lease.
func (x *inspection) clocks(ctx context.Context) error {
	config := x.cluster.Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	server, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return fmt.Errorf("the API server's answer has no time: %w", err)
	}
	x.facts.Clocks = append(x.facts.Clocks, Clock{Of: "this machine", Ahead: time.Since(server)})
	if x.facts.Installed == nil {
		return nil
	}
	ns, _, _ := strings.Cut(x.facts.Installed.Deployment, "/")
	u, err := x.cluster.Dynamic().Resource(lease.Resource).Namespace(x.home(ns)).Get(ctx, instance.LeaseName, metav1.GetOptions{})
	if err != nil {
		return nil // it has not led yet, or under another name
	}
	renewal, err := time.Parse(time.RFC3339Nano, object.Object(u.Object).StringAt("spec", "renewTime"))
	if ahead := renewal.Sub(server); err == nil && ahead > 0 { // a renewal in the past says nothing
		x.facts.Clocks = append(x.facts.Clocks, Clock{Of: "the controller", Ahead: ahead})
	}
	return nil
}

// others looks for controllers that apply apps, and for apps that another one works on although truce enforces them.
func (x *inspection) others(ctx context.Context) error {
	for _, o := range othercontroller.ByAppKind {
		_, evidence, err := o.Running(ctx, x.cluster)
		if err != nil {
			return err
		}
		if evidence != "" {
			x.facts.Others = append(x.facts.Others, Other{Name: o.Name, Evidence: evidence})
		}
	}
	slices.SortFunc(x.facts.Others, func(a, b Other) int { return strings.Compare(a.Name, b.Name) })
	if x.facts.Installed == nil {
		return nil
	}
	for gvk, f := range registry.AppDialects() {
		if err := x.shared(ctx, gvk, f); err != nil {
			return err
		}
	}
	return nil
}

// shared looks for apps of a kind that truce enforces although another controller has written their status last.
func (x *inspection) shared(ctx context.Context, gvk object.GVK, f dialect.Apps) error {
	process := policy.Policy{}
	if x.facts.Installed.Observes {
		process.Mode = policy.Observe
	}
	found, err := x.live.List(ctx, live.Interest{GVK: gvk, Depth: live.Full})
	if err != nil && !errors.Is(err, live.ErrUnknownKind) {
		return err
	}
	for _, cr := range found {
		a := f.App(cr, process)
		if by := statusWriter(cr); a.Policy.Mode != policy.Observe && !a.Suspended && by != "" && by != uninstall.Manager {
			x.facts.Apps = append(x.facts.Apps, App{Name: a.Key.String(), Writer: by})
		}
	}
	return nil
}

// statusWriter is who has written a custom resource's status last, as managedFields record it.
func statusWriter(cr object.Object) string {
	var last, by string
	entries, _ := cr.At("metadata", "managedFields").([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if _, status := object.Object(entry).At("fieldsV1", "f:status").(map[string]any); !status {
			continue
		}
		if at, _ := entry["time"].(string); at >= last {
			last, by = at, fmt.Sprint(entry["manager"])
		}
	}
	return by
}

// webhooks asks which mutating admission matches an object of an app.
func (x *inspection) webhooks(ctx context.Context) error {
	records, err := (&configmap.Store{Cluster: x.cluster}).All(ctx)
	if err != nil {
		return err
	}
	recorded, listed, kinds := map[object.ID]bool{}, map[live.Interest]bool{}, map[string][]string{}
	for _, r := range records {
		for _, e := range r.Entries {
			recorded[e.ID] = true
			listed[live.Interest{GVK: object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}, Namespace: e.ID.Namespace, Selector: object.PartOf}] = true
		}
	}
	reader := &admission.Reader{Cluster: x.cluster, Live: &namespacesOnce{Reader: x.live, known: map[string]object.Object{}}, Whole: true}
	for of := range listed {
		if err := x.matching(ctx, reader, of, recorded, kinds); err != nil {
			return err
		}
	}
	for name, all := range kinds {
		slices.Sort(all)
		x.facts.Webhooks = append(x.facts.Webhooks, Webhook{Name: name, Kinds: all})
	}
	slices.SortFunc(x.facts.Webhooks, func(a, b Webhook) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// matching adds the admission that matches recorded objects of an interest to kinds, by its name.
func (x *inspection) matching(ctx context.Context, from *admission.Reader, of live.Interest, recorded map[object.ID]bool, kinds map[string][]string) error {
	found, err := x.live.List(ctx, of)
	if errors.Is(err, live.ErrUnknownKind) {
		return nil // its definition is gone
	}
	if err != nil {
		return err
	}
	for _, o := range found {
		if !recorded[o.ID()] {
			continue
		}
		all, err := from.Mutators(ctx, of.GVK, o)
		if err != nil {
			return err
		}
		for _, w := range all {
			name := w.Kind + " " + w.Name
			if !slices.Contains(kinds[name], of.GVK.Kind) {
				kinds[name] = append(kinds[name], of.GVK.Kind)
			}
		}
	}
	return nil
}

// namespacesOnce reads each namespace once.
type namespacesOnce struct {
	live.Reader
	known map[string]object.Object
}

// Get implements live.Reader.
func (r *namespacesOnce) Get(ctx context.Context, gvk object.GVK, id object.ID) (object.Object, error) {
	if o, known := r.known[id.Name]; known && gvk.Kind == "Namespace" {
		return o, nil
	}
	o, err := r.Reader.Get(ctx, gvk, id)
	if err == nil && gvk.Kind == "Namespace" {
		r.known[id.Name] = o
	}
	return o, err
}

// overlaps finds each pair of instances that work for the same namespaces.
func (x *inspection) overlaps(ctx context.Context) error {
	all, err := instance.ListInstances(ctx, x.cluster, "")
	if err != nil || len(all) < 2 {
		return err
	}
	all = slices.DeleteFunc(all, func(i instance.Instance) bool { return i.SignOfLife(ctx) != nil })
	for i, a := range all {
		for _, b := range all[i+1:] {
			if shared := instance.Overlap(a.Namespaces(), b.Namespaces()); len(shared) > 0 {
				x.facts.Overlaps = append(x.facts.Overlaps, Overlap{First: a.String(), Second: b.String(), Namespaces: shared})
			}
		}
	}
	return nil
}
