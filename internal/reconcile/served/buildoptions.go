package served

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BuildOptions read from ConfigMap argocd-cm of a namespace how Argo CD builds the kustomizations of Applications there (kustomize.buildOptions). An
// answer holds for a while. The methods may be called concurrently.
type BuildOptions struct {
	Cluster *cluster.Client

	mu    sync.Mutex
	known map[string]buildOption // by namespace
}

// buildOption is what was read.
type buildOption struct {
	inflates bool
	at       time.Time
}

// holdBuildOptions is how long what was read holds: all Applications of a namespace ask for the same.
const holdBuildOptions = 30 * time.Second

// Inflates reports whether charts that kustomizations name are rendered: --enable-helm. A ConfigMap that is not there, or that this identity may not
// read, does not ask for it.
func (b *BuildOptions) Inflates(ctx context.Context, namespace string) (bool, error) {
	b.mu.Lock()
	was, known := b.known[namespace]
	b.mu.Unlock()
	if known && time.Since(was.at) < holdBuildOptions {
		return was.inflates, nil
	}
	inflates, err := b.read(ctx, namespace)
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]buildOption{}
	}
	b.known[namespace] = buildOption{inflates, time.Now()}
	return inflates, nil
}

func (b *BuildOptions) read(ctx context.Context, namespace string) (bool, error) {
	kind, err := b.Cluster.Resource(object.GVK{Version: "v1", Kind: "ConfigMap"})
	if err != nil {
		return false, err
	}
	u, err := b.Cluster.Dynamic().Resource(kind.GVR).Namespace(namespace).Get(ctx, "argocd-cm", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read ConfigMap %s/argocd-cm: %w", namespace, err)
	}
	data, _ := u.Object["data"].(map[string]any)
	options, _ := data["kustomize.buildOptions"].(string)
	return asksForHelm(options), nil
}

// asksForHelm reports whether options of kustomize build, separated by spaces as Argo CD splits them, render charts.
func asksForHelm(options string) bool {
	all := strings.Fields(options)
	return slices.Contains(all, "--enable-helm") || slices.Contains(all, "--enable-helm=true")
}
