package view

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// fieldManager is what commands write custom resources as.
const fieldManager = "truce-cli"

// nilIfAbsent turns the answer that there is no such object into nil.
func nilIfAbsent(o object.Object, err error) (object.Object, error) {
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		return nil, nil
	}
	return o, err
}

// mostTries bounds how often a change is repeated after a conflict. The status of an Application is no subresource: while a controller fights over a field it is written
// each second or two, and on a busy machine one try takes as long.
const mostTries = 15

// Edit carries out a change of an app's custom resources: made on what is there, judged by the server, and written only over that.
func (c *Cluster) Edit(ctx context.Context, e Edit) (EditResult, error) {
	var err error
	for range mostTries {
		var out EditResult
		if out, err = c.editOnce(ctx, e); err == nil || !apierrors.IsConflict(err) {
			return out, err
		}
	}
	return EditResult{}, err
}

func (c *Cluster) editOnce(ctx context.Context, e Edit) (EditResult, error) {
	_, commands, err := c.fitted(ctx, e.App.Kind)
	if err != nil {
		return EditResult{}, err
	}
	out := EditResult{}
	if e.How == Create || e.How == Upsert {
		if out, err = c.created(ctx, commands, e); err != nil {
			return out, err
		}
	} else {
		if out.Before, err = c.read(ctx, e.App); err != nil {
			return out, err
		}
		if out.After, err = commands.Edit(out.Before, e.Change); err != nil {
			return out, &exit.Error{Code: exit.Usage, Err: fmt.Errorf("%s: %w", e.App, err)}
		}
	}
	if err := c.examine(ctx, e, &out); err != nil {
		return out, err
	}
	if out.After, err = c.write(ctx, e, out); err != nil || e.How != Delete {
		return out, err
	}
	return out, c.delete(ctx, e, out.After.App)
}

// created is a new app, or the one that is there already where that says the same or may be changed.
func (c *Cluster) created(ctx context.Context, commands dialect.Commands, e Edit) (EditResult, error) {
	wanted, err := describedResources(commands, e)
	if err != nil {
		return EditResult{}, &exit.Error{Code: exit.Usage, Err: fmt.Errorf("%s: %w", e.App, err)}
	}
	setMetadata(wanted.App, "labels", e.Labels)
	setMetadata(wanted.App, "annotations", e.Annotations)
	out := EditResult{After: wanted}
	if out.Before.App, err = c.there(ctx, wanted.App); err != nil {
		return out, err
	}
	if wanted.Source != nil {
		if out.Before.Source, err = c.there(ctx, wanted.Source); err != nil {
			return out, err
		}
	}
	out.After = dialect.Resources{App: mergeResource(out.Before.App, wanted.App), Source: mergeResource(out.Before.Source, wanted.Source)}
	for _, o := range [][2]object.Object{{out.Before.App, out.After.App}, {out.Before.Source, out.After.Source}} {
		if e.How == Create && o[0] != nil && !reflect.DeepEqual(o[0], o[1]) {
			return out, fmt.Errorf("%s is there already, and says something else: --upsert changes it", displayName(o[0]))
		}
	}
	return out, nil
}

// setMetadata sets labels or annotations beside those that a custom resource has.
func setMetadata[V string | any](o object.Object, kind string, values map[string]V) {
	if len(values) == 0 {
		return
	}
	all, _ := o.Metadata()[kind].(map[string]any)
	if all == nil {
		all = map[string]any{}
		o.Metadata()[kind] = all
	}
	for key, value := range values {
		all[key] = value
	}
}

// saysAll reports whether a custom resource says all that is wanted; the server has filled in its defaults beside that.
func saysAll(there, wanted object.Object) bool {
	for _, path := range [][]string{{"spec"}, {"metadata", "labels"}, {"metadata", "annotations"}} {
		want := wanted.At(path...)
		if want != nil && !field.ContainsValues(there.At(path...), want) {
			return false
		}
	}
	return true
}

// describedResources are the custom resources that a command describes.
func describedResources(commands dialect.Commands, e Edit) (dialect.Resources, error) {
	if e.Given.App == nil {
		return commands.Create(e.App, e.Change)
	}
	r := dialect.Resources{App: e.Given.App.Clone(), Source: e.Given.Source.Clone()}
	for _, o := range r.All() {
		if o.Metadata() == nil {
			o["metadata"] = map[string]any{}
		}
		if o.Namespace() == "" {
			o.Metadata()["namespace"] = e.App.Namespace
		}
	}
	return commands.Edit(r, e.Change)
}

// mergeResource is the custom resource that is there with the spec, labels and annotations that are wanted; the wanted one if there is none.
func mergeResource(there, wanted object.Object) object.Object {
	if there == nil || wanted == nil {
		return wanted
	}
	if saysAll(there, wanted) {
		return there
	}
	out := there.Clone()
	out["spec"] = object.CloneValue(wanted["spec"])
	for _, kind := range []string{"labels", "annotations"} {
		values, _ := wanted.At("metadata", kind).(map[string]any)
		setMetadata(out, kind, values)
	}
	return out
}

func (c *Cluster) there(ctx context.Context, o object.Object) (object.Object, error) {
	out, err := nilIfAbsent(c.engine.Live.Get(ctx, o.GVK(), o.ID()))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", displayName(o), err)
	}
	return out, nil
}

// write puts what has changed into the cluster: first all of it as a dry run, so that of two custom resources both are changed or none.
func (c *Cluster) write(ctx context.Context, e Edit, out EditResult) (dialect.Resources, error) {
	before := out.Before.All()
	var todo []object.Object
	for _, o := range out.After.All() {
		if !slices.ContainsFunc(before, func(b object.Object) bool { return reflect.DeepEqual(b, o) }) {
			todo = append(todo, o)
		}
	}
	stages := [][]string{{metav1.DryRunAll}, nil}
	if e.DryRun {
		stages = stages[:1]
	}
	result := out.After
	for _, dry := range stages {
		for _, o := range todo {
			saved, err := c.put(ctx, o, dry)
			if err != nil {
				return result, err
			}
			if o.GVK() == result.App.GVK() {
				result.App = saved
			} else {
				result.Source = saved
			}
		}
	}
	return result, nil
}

// put creates or replaces one custom resource. It bears the resourceVersion that the change was made on, and the server refuses
// fields that it would not keep.
func (c *Cluster) put(ctx context.Context, o object.Object, dry []string) (object.Object, error) {
	r, err := c.served(o.GVK(), o.Namespace())
	if err != nil {
		return nil, err
	}
	var saved *unstructured.Unstructured
	verb := "write"
	if o.ResourceVersion() == "" {
		verb = "create"
		saved, err = r.Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{FieldManager: fieldManager, DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
		if apierrors.IsNotFound(err) { // what is not there is the namespace
			err = fmt.Errorf("%w: make it (kubectl create namespace %s), or name another with -n", err, o.Namespace())
		}
	} else {
		saved, err = r.Update(ctx, &unstructured.Unstructured{Object: o}, metav1.UpdateOptions{FieldManager: fieldManager, DryRun: dry, FieldValidation: metav1.FieldValidationStrict})
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, displayName(o), err)
	}
	return saved.Object, nil
}

// delete takes the app's custom resource away, as it was read.
func (c *Cluster) delete(ctx context.Context, e Edit, cr object.Object) error {
	if e.DryRun {
		return nil
	}
	r, err := c.served(cr.GVK(), cr.Namespace())
	if err != nil {
		return err
	}
	uid, version := types.UID(cr.UID()), cr.ResourceVersion()
	err = r.Delete(ctx, cr.Name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", e.App, err)
	}
	return nil
}

// known reports whether an app is in the cluster.
func (c *Cluster) known(ctx context.Context) func(app.Key) bool {
	return func(key app.Key) bool {
		gvk, _, err := registry.CommandsFor(key.Kind)
		if err != nil {
			return false
		}
		o, err := nilIfAbsent(c.engine.Live.Get(ctx, gvk, resourceID(gvk, key)))
		return err == nil && o != nil
	}
}
