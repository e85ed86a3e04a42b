package compose

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render/desired"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// keeper finds the app that a mark means: one in another namespace than ours is another truce's. Where we may not look whether that app is
// still there, it is taken to be. All are ours of a truce that works for all, but those of namespaces that are apart.
func keeper(r live.Reader, ours cluster.Namespaces, apart func(context.Context) ([]string, error)) func(context.Context, string) (string, error) {
	if !ours.Limited() {
		return func(ctx context.Context, mark string) (string, error) { return keeperAmong(ctx, r, mark, apart) }
	}
	return func(ctx context.Context, mark string) (string, error) {
		namespace, _, whole := strings.Cut(mark, ".")
		if !whole { // cut to a hash within the namespace's name: it is nobody else's if it is one of ours
			name, err := bearerIn(ctx, r, ours.Each(), mark)
			if err != nil || name != "" {
				return "", err
			}
			return mark, nil
		}
		if ours.Cover(namespace) {
			return "", nil
		}
		name, err := bearerIn(ctx, r, []string{namespace}, mark)
		if apierrors.IsForbidden(err) {
			return mark, nil
		}
		return name, err
	}
}

// keeperAmong finds the app that a mark means in the namespaces that are apart.
func keeperAmong(ctx context.Context, r live.Reader, mark string, apart func(context.Context) ([]string, error)) (string, error) {
	theirs, err := apart(ctx)
	if err != nil {
		return "", err
	}
	if namespace, _, whole := strings.Cut(mark, "."); whole {
		if !slices.Contains(theirs, namespace) {
			return "", nil
		}
		theirs = []string{namespace}
	}
	return bearerIn(ctx, r, theirs, mark)
}

// bearerIn finds the app of the namespaces that has the mark; empty for none.
func bearerIn(ctx context.Context, r live.Reader, namespaces []string, mark string) (string, error) {
	for _, namespace := range namespaces {
		for gvk := range kinds().Apps {
			name, err := bearer(ctx, r, live.Interest{GVK: gvk, Namespace: namespace}, mark)
			if err != nil || name != "" {
				return name, err
			}
		}
	}
	return "", nil
}

// bearer finds the app of a kind that has the mark; empty for none.
func bearer(ctx context.Context, r live.Reader, i live.Interest, mark string) (string, error) {
	all, err := r.List(ctx, i)
	if errors.Is(err, live.ErrUnknownKind) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, o := range all {
		key := app.Key{Kind: i.GVK.Kind, Namespace: i.Namespace, Name: o.Name()}
		if desired.Mark(key) == mark {
			return key.String(), nil
		}
	}
	return "", nil
}
