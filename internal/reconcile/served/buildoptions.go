package served

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BuildOptions read from ConfigMap argocd-cm of a namespace how Argo CD builds kustomizations and charts of Applications there (kustomize.buildOptions,
// helm.valuesFileSchemes), and by which label it tracks their objects (application.instanceLabelKey). An answer holds for a while. The methods may be called concurrently.
type BuildOptions struct {
	Cluster *cluster.Client

	mu    sync.Mutex
	known map[string]buildOption // by namespace
}

// buildOption is what was read.
type buildOption struct {
	inflates bool
	schemes  []string
	label    string
	at       time.Time
}

// holdBuildOptions is how long what was read holds: all Applications of a namespace ask for the same.
const holdBuildOptions = 30 * time.Second

// Inflates reports whether charts that kustomizations name are rendered: --enable-helm. A ConfigMap that is not there, or that this identity may not
// read, does not ask for it.
func (b *BuildOptions) Inflates(ctx context.Context, namespace string) (bool, error) {
	o, err := b.options(ctx, namespace)
	return o.inflates, err
}

// ValuesSchemes returns the schemes of the addresses from which charts may have files of values: https and http where the ConfigMap does not say.
func (b *BuildOptions) ValuesSchemes(ctx context.Context, namespace string) ([]string, error) {
	o, err := b.options(ctx, namespace)
	return o.schemes, err
}

// InstanceLabel returns the label by which the objects of Applications are tracked; empty where the ConfigMap names none, for Argo CD's own.
func (b *BuildOptions) InstanceLabel(ctx context.Context, namespace string) (string, error) {
	o, err := b.options(ctx, namespace)
	return o.label, err
}

func (b *BuildOptions) options(ctx context.Context, namespace string) (buildOption, error) {
	b.mu.Lock()
	was, known := b.known[namespace]
	b.mu.Unlock()
	if known && time.Since(was.at) < holdBuildOptions {
		return was, nil
	}
	data, err := b.read(ctx, namespace)
	if err != nil {
		return buildOption{}, err
	}
	options, _ := data["kustomize.buildOptions"].(string)
	label, _ := data["application.instanceLabelKey"].(string)
	now := buildOption{asksForHelm(options), schemesOf(data), label, time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]buildOption{}
	}
	b.known[namespace] = now
	return now, nil
}

func (b *BuildOptions) read(ctx context.Context, namespace string) (data map[string]any, err error) {
	kind, err := b.Cluster.Resource(object.GVK{Version: "v1", Kind: "ConfigMap"})
	if err != nil {
		return nil, err
	}
	u, err := b.Cluster.Dynamic().Resource(kind.GVR).Namespace(namespace).Get(ctx, "argocd-cm", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read ConfigMap %s/argocd-cm: %w", namespace, err)
	}
	data, _ = u.Object["data"].(map[string]any)
	return data, nil
}

// schemesOf reads helm.valuesFileSchemes, with Argo CD's default. An empty one allows none.
func schemesOf(data map[string]any) []string {
	text, set := data["helm.valuesFileSchemes"].(string)
	if !set {
		return []string{"https", "http"}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// asksForHelm reports whether options of kustomize build, separated by spaces as Argo CD splits them, render charts.
func asksForHelm(options string) bool {
	all := strings.Fields(options)
	return slices.Contains(all, "--enable-helm") || slices.Contains(all, "--enable-helm=true")
}
