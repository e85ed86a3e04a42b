package instance

import (
	"context"
	"errors"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render/desired"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ForeignApps are the apps outside of an instance's namespaces.
type ForeignApps struct {
	Live       live.Reader
	Namespaces cluster.Namespaces
}

// WithMark names the app that a mark stands for; empty for none. An app in a namespace that may not be read is taken to exist.
func (f ForeignApps) WithMark(ctx context.Context, mark string) (string, error) {
	namespace, _, whole := strings.Cut(mark, ".")
	if !whole { // the mark is cut to a hash within the namespace's name: it is foreign unless an app of these namespaces has it
		name, err := appWithMark(ctx, f.Live, f.Namespaces.Each(), mark)
		if err != nil || name != "" {
			return "", err
		}
		return mark, nil
	}
	if f.Namespaces.Cover(namespace) {
		return "", nil
	}
	name, err := appWithMark(ctx, f.Live, []string{namespace}, mark)
	if apierrors.IsForbidden(err) {
		return mark, nil
	}
	return name, err
}

// appWithMark finds the app of the namespaces that has the mark; empty for none.
func appWithMark(ctx context.Context, r live.Reader, namespaces []string, mark string) (string, error) {
	for _, namespace := range namespaces {
		for gvk := range registry.AppDialects() {
			name, err := appOfKindWithMark(ctx, r, live.Interest{GVK: gvk, Namespace: namespace}, mark)
			if err != nil || name != "" {
				return name, err
			}
		}
	}
	return "", nil
}

func appOfKindWithMark(ctx context.Context, r live.Reader, i live.Interest, mark string) (string, error) {
	all, err := r.List(ctx, i)
	if errors.Is(err, live.ErrUnknownKind) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, o := range all {
		key := app.Key{Kind: i.GVK.Kind, Namespace: i.Namespace, Name: o.Name()}
		if desired.PartOfValue(key) == mark {
			return key.String(), nil
		}
	}
	return "", nil
}

// RemoteApps are the apps that objects in a remote cluster may belong to: those of this cluster, and those of a controller in that one.
type RemoteApps struct {
	Home, There live.Reader
}

// WithMark names the app in the remote cluster that a mark stands for; empty where it is an app of this
// cluster, or none. An app in a namespace that may not be read is taken to exist.
func (r RemoteApps) WithMark(ctx context.Context, mark string) (string, error) {
	namespace, _, whole := strings.Cut(mark, ".")
	if !whole {
		return mark, nil
	}
	home, err := appWithMark(ctx, r.Home, []string{namespace}, mark)
	if home != "" || err != nil {
		return "", err
	}
	there, err := appWithMark(ctx, r.There, []string{namespace}, mark)
	if apierrors.IsForbidden(err) {
		return mark, nil
	}
	return there, err
}
