package compose

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// A controller's flags decide what it does, and commands that say what it would do must know them. So the one that leads writes
// them into a ConfigMap of its namespace: the policies that hold where a custom resource says nothing, and the claims of files.
const (
	processConfig = "truce-controller"
	processLabel  = "truce.dev/controller" // "true", so that it is found without its namespace
	keyClaims     = "claims"
	keyMode       = "mode"
	keyPause      = "pause"
	keyAdditions  = "additions"
	keyVersion    = "version"
	keyCatalogue  = "claims.yaml"
	keyNamespaces = "namespaces"   // those that it works for, with commas between; empty for all
	keyPage       = "page"         // address of its status page, for commands on the same machine
	keyPod        = "pod"          // namespace/name:port of its status page, for commands that come through the API server
	claimsConfig  = "truce-claims" // as internal/controller reads it

	// publisher is the field manager of the ConfigMap, as of all that a controller writes for itself.
	publisher = "truce-controller"
	// deployed is the namespace that deploy/ installs truce in.
	deployed = "truce-system"
	// publishAgain is how long a controller waits that could not write it.
	publishAgain = 30 * time.Second
)

// configMapKind is what discovery would say of ConfigMaps; every server has them.
var configMapKind = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// publish writes down how this controller runs, and retries until that has succeeded or ctx ends.
func (s *service) publish(ctx context.Context) {
	warn := sync.OnceFunc(func() { s.warnOfOverlap(ctx) })
	for {
		err := publish(ctx, s.parts.cluster, s.parts.version, s.options, s.places())
		if err == nil {
			warn()
			err = s.publishToken(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		s.options.Log.Warn("commands cannot know this controller's flags and log in at its page", "error", err.Error())
		select {
		case <-time.After(publishAgain):
		case <-ctx.Done():
		}
	}
}

// publish writes nothing where the same is written down already.
func publish(ctx context.Context, c *cluster.Client, version string, o cli.ControllerOptions, places map[string]any) error {
	text, err := beyondBuiltin(o.Catalogue)
	if err != nil {
		return err
	}
	home := o.Namespaces.Home(c.Namespace())
	data := map[string]any{
		keyNamespaces: strings.Join(o.Namespaces, ","), keyVersion: version, keyCatalogue: text,
		keyRemotes: remotesText(o.Remotes),
		keyClaims:  string(o.Process.Claims), keyMode: string(o.Process.Mode), keyPause: string(o.Process.Pause), keyAdditions: string(o.Process.Additions),
	}
	maps.Copy(data, places)
	_, err = configMapsIn(c, home).Apply(ctx, processConfig, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": processConfig, "namespace": home, "labels": map[string]any{processLabel: "true"}},
	}}, metav1.ApplyOptions{FieldManager: publisher, Force: true})
	if err != nil {
		return fmt.Errorf("apply ConfigMap %s/%s: %w", home, processConfig, err)
	}
	return nil
}

func configMapsIn(c *cluster.Client, namespace string) dynamic.ResourceInterface {
	return c.Dynamic().Resource(configMapKind).Namespace(namespace)
}

// beyondBuiltin is a file of claims that makes the catalogue of the built-in one.
func beyondBuiltin(c *claim.Catalogue) (string, error) {
	if c == nil {
		return "", nil
	}
	var more []claim.Entry
	for _, e := range c.Entries() {
		if e.File != "" {
			e.File = ""
			more = append(more, e)
		}
	}
	for _, e := range claim.Builtin().Entries() {
		if _, there := c.Entry(e.ID); !there {
			more = append(more, claim.Entry{ID: e.ID, Off: true})
		}
	}
	if len(more) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(map[string]any{"claims": more})
	return string(text), err
}

// process is how the controller runs, as far as it is known.
type process struct {
	policy     app.Policy
	catalogue  *claim.Catalogue
	namespaces cluster.Namespaces
	notes      []string // what a reader of a comparison should know of it
}

// process reads what the controller has written down. Without that the defaults are taken, and a note says so.
func (c *client) process(ctx context.Context, key app.Key) (process, error) {
	found, err := c.published(ctx, key.Namespace)
	if err != nil {
		return process{}, err
	}
	out := process{catalogue: claim.Builtin()}
	if len(found) == 0 {
		out.notes = []string{"no controller says how it runs (ConfigMap " + processConfig + "): the defaults of its flags are taken"}
		return out, nil
	}
	for _, other := range found[1:] {
		if said(other) != said(found[0]) {
			out.notes = append(out.notes, fmt.Sprintf("several controllers run differently (%s, %s): the flags of the first are taken", where(found[0]), where(other)))
		}
	}
	if note := c.overlapNote(ctx, key.Namespace, found); note != "" {
		out.notes = append(out.notes, note)
	}
	out.take(found[0])
	c.parts.fetchFrom(remotesOf(text(found[0], "data", keyRemotes)))
	claims, err := configMapsIn(c.parts.cluster, found[0].Namespace()).Get(ctx, claimsConfig, metav1.GetOptions{})
	switch {
	case err == nil:
		out.claims(claims.Object)
	case !apierrors.IsNotFound(err):
		out.notes = append(out.notes, fmt.Sprintf("what ConfigMap %s/%s says of claims is not known: %v", found[0].Namespace(), claimsConfig, err))
	}
	return out, nil
}

// published lists what the controllers that work for a namespace ("" for any) have written down.
func (c *client) published(ctx context.Context, namespace string) ([]object.Object, error) {
	all, err := c.allPublished(ctx, namespace)
	if namespace == "" || err != nil {
		return all, err
	}
	return slices.DeleteFunc(all, func(o object.Object) bool { return !worksFor(o).Cover(namespace) }), nil
}

// worksFor is what a controller has written down of its namespaces.
func worksFor(o object.Object) cluster.Namespaces {
	return strings.FieldsFunc(text(o, "data", keyNamespaces), func(r rune) bool { return r == ',' })
}

// allPublished lists what controllers have written down. Who may not list ConfigMaps in the whole cluster looks where it may lie.
func (c *client) allPublished(ctx context.Context, namespace string) ([]object.Object, error) {
	list, err := configMapsIn(c.parts.cluster, "").List(ctx, metav1.ListOptions{LabelSelector: processLabel + "=true"})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list ConfigMaps of controllers: %w", err)
	}
	var out []object.Object
	if err == nil {
		for _, u := range list.Items {
			out = append(out, u.Object)
		}
		return out, nil
	}
	places := []string{deployed, c.parts.cluster.Namespace(), namespace}
	slices.Sort(places)
	for _, ns := range slices.Compact(places) {
		u, err := configMapsIn(c.parts.cluster, ns).Get(ctx, processConfig, metav1.GetOptions{})
		switch {
		case err == nil:
			out = append(out, u.Object)
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", ns, processConfig, err)
		}
	}
	return out, nil
}

// policyIn are the flags that a controller has written down.
func policyIn(o object.Object) app.Policy {
	return app.Policy{
		Claims: app.Claims(text(o, "data", keyClaims)), Mode: app.Mode(text(o, "data", keyMode)),
		Pause: app.ManualChanges(text(o, "data", keyPause)), Additions: app.ManualChanges(text(o, "data", keyAdditions)),
	}
}

// take judges by the flags of a controller.
func (p *process) take(o object.Object) {
	p.policy = policyIn(o)
	if p.policy != (app.Policy{}) {
		p.notes = append(p.notes, fmt.Sprintf("as the controller runs: %s (%s)", said(o), where(o)))
	}
	p.namespaces = worksFor(o)
	p.with(where(o), text(o, "data", keyCatalogue))
}

// claims adds the files of the ConfigMap that the controller watches.
func (p *process) claims(o object.Object) {
	for _, name := range names(o) {
		p.with(where(o)+" "+name, text(o, "data", name))
	}
}

func (p *process) with(file, claims string) {
	next, err := p.catalogue.With(file, []byte(claims))
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("claims left out: %v", err))
		return
	}
	p.catalogue = next
}

func names(o object.Object) []string {
	data, _ := o.At("data").(map[string]any)
	out := make([]string, 0, len(data))
	for name := range data {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func where(o object.Object) string { return "ConfigMap " + o.Namespace() + "/" + o.Name() }

// said are the flags of a controller that decide what it does.
func said(o object.Object) string {
	var out []string
	for _, flag := range []string{keyClaims, keyMode, keyPause, keyAdditions} {
		if value := text(o, "data", flag); value != "" {
			out = append(out, "--"+flag+"="+value)
		}
	}
	return strings.Join(out, " ")
}
