package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile/served"
	"github.com/truce-gitops/truce/internal/render"
)

// installer is the field manager of what `truce up` brings into a cluster.
const installer = "truce-up"

// establishWithin is how long the server may take to serve a new CRD.
const establishWithin = time.Minute

// definitions brings the CRDs into the cluster, lists each as soon as it is there, and waits until they are served. Those of other
// owners, such as Flux's own, are left as they are; what they lack is returned as notes.
func (s *starting) definitions(ctx context.Context) (notes []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, establishWithin, errors.New("not served in time"))
	defer cancel()
	objects, err := manifests(deploy.CRDs, "crds")
	if err != nil {
		return nil, fmt.Errorf("read the CRDs: %w", err)
	}
	kinds := registry.CustomResources()
	for _, o := range objects {
		theirs, err := installCRD(ctx, s.cluster, o)
		if err != nil {
			return nil, fmt.Errorf("install %s: %w", o.ID(), err)
		}
		if theirs == nil {
			s.brought(o)
			continue
		}
		notes = append(notes, droppedNotes(theirs)...)
		kinds = slices.DeleteFunc(kinds, func(gvk object.GVK) bool {
			lacks := defines(theirs, gvk) && !servesVersion(theirs, gvk.Version)
			if lacks {
				notes = append(notes, fmt.Sprintf("the cluster's %s does not serve %s: truce reads no %s until it does", theirs.Name(), gvk.Version, gvk.Kind))
			}
			return lacks
		})
	}
	if err := established(ctx, s.cluster, objects); err != nil {
		return notes, err
	}
	return notes, waitServed(ctx, s.cluster, kinds)
}

func defines(crd object.Object, gvk object.GVK) bool {
	return crd.StringAt("spec", "group") == gvk.Group && crd.StringAt("spec", "names", "kind") == gvk.Kind
}

func servesVersion(crd object.Object, version string) bool {
	versions, _ := crd.At("spec", "versions").([]any)
	return slices.ContainsFunc(versions, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["name"] == version && m["served"] == true
	})
}

// installCRD returns the CRD that another owner has installed, and that is left as it is.
func installCRD(ctx context.Context, c *cluster.Client, o object.Object) (theirs object.Object, err error) {
	r, err := resourceOf(c, o)
	if err != nil {
		return nil, err
	}
	have, err := r.Get(ctx, o.Name(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err == nil && !installedByUs(have) {
		return have.Object, nil
	}
	_, err = r.Apply(ctx, o.Name(), &unstructured.Unstructured{Object: o}, metav1.ApplyOptions{FieldManager: installer, Force: true})
	return nil, err
}

func droppedNotes(crd object.Object) []string {
	var out []string
	for _, f := range (flux.Definitions{}).DroppedFields(crd) {
		out = append(out, fmt.Sprintf("the cluster's %s drops %s: use the annotations instead", crd.Name(), f))
	}
	return out
}

func installedByUs(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == installer })
}

// established waits for the condition of that name.
func established(ctx context.Context, c *cluster.Client, objects []object.Object) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan string, len(objects))
	seen := map[string]bool{}
	watch.Watcher{Cluster: c}.Watch(watching, live.Interest{GVK: served.CRDs, Depth: live.Full}, func(ev live.Event) {
		if isEstablished(ev.Object) && !seen[ev.ID.Name] {
			seen[ev.ID.Name] = true
			select {
			case done <- ev.ID.Name:
			case <-watching.Done():
			}
		}
	})
	missing := map[string]bool{}
	for _, o := range objects {
		missing[o.Name()] = true
	}
	for len(missing) > 0 {
		select {
		case name := <-done:
			delete(missing, name)
		case <-ctx.Done():
			return fmt.Errorf("wait for the CRDs: %w", context.Cause(ctx))
		}
	}
	return nil
}

// waitServed waits until discovery shows the kinds and they can be listed: that follows the condition by some milliseconds, and
// there is no sign of it. A request in between is answered by 429 and "Retry-After: 1" (the storage is initialising), for which
// client-go would sleep a second each; so this client does not see the header.
func waitServed(ctx context.Context, c *cluster.Client, kinds []object.GVK) error {
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return hasty{next} })
	probe, err := cluster.NewClient(config)
	if err != nil {
		return err
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for _, gvk := range kinds {
		for {
			err := listable(ctx, probe, gvk)
			if err == nil {
				break
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return fmt.Errorf("wait for the CRDs: %w", err)
			}
		}
		c.Invalidate(gvk.APIVersion())
	}
	return nil
}

func listable(ctx context.Context, c *cluster.Client, gvk object.GVK) error {
	c.Invalidate(gvk.APIVersion())
	res, err := c.Resource(gvk)
	if err != nil {
		return err
	}
	_, err = c.Dynamic().Resource(res.GVR).List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// hasty drops the server's wish for a later retry.
type hasty struct{ next http.RoundTripper }

func (h hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := h.next.RoundTrip(r)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// apply applies objects, and lists each as soon as it is there: what the files or the flags say holds, and what a user has added besides stays.
func (s *starting) apply(ctx context.Context, objects []object.Object) error {
	for _, o := range objects {
		r, err := resourceOf(s.cluster, o)
		if err != nil {
			return err
		}
		_, err = r.Apply(ctx, o.Name(), &unstructured.Unstructured{Object: o}, metav1.ApplyOptions{FieldManager: installer, Force: true})
		if err != nil {
			return fmt.Errorf("apply %s: %w", o.ID(), err)
		}
		s.brought(o)
	}
	return nil
}

func resourceOf(c *cluster.Client, o object.Object) (dynamic.ResourceInterface, error) {
	res, err := c.Resource(o.GVK())
	if err != nil {
		return nil, err
	}
	r := c.Dynamic().Resource(res.GVR)
	if res.Namespaced {
		return r.Namespace(o.Namespace()), nil
	}
	return r, nil
}

// manifests reads the objects of a directory's files, in the order of their names.
func manifests(files fs.FS, dir string) ([]object.Object, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, err
	}
	var out []object.Object
	for _, e := range entries {
		data, err := fs.ReadFile(files, dir+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		found, err := render.Manifests(e.Name(), data)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			out = append(out, o.Data)
		}
	}
	return out, nil
}

func isEstablished(crd object.Object) bool {
	conditions, _ := crd.At("status", "conditions").([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Established" && m["status"] == "True"
	})
}
