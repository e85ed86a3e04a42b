package controller

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// Credentials reads the data of the Secret that a source names or chooses: nil where it does neither, or where there is none.
func Credentials(ctx context.Context, c *cluster.Client, s dialect.Source) (data map[string][]byte, name string, err error) {
	if s.Secret == "" && s.SecretSelector.Choose == nil {
		return nil, "", nil
	}
	secrets, err := secretsIn(c, s.Key.Namespace)
	if err != nil {
		return nil, "", err
	}
	if s.Secret == "" {
		return labelled(ctx, secrets, s)
	}
	u, err := secrets.Get(ctx, s.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "", nil // the front says which Secret is not there
	}
	if err != nil {
		return nil, "", fmt.Errorf("read Secret %s/%s: %w", s.Key.Namespace, s.Secret, err)
	}
	return secretData(u.Object)
}

func secretsIn(c *cluster.Client, namespace string) (dynamic.ResourceInterface, error) {
	res, err := c.Resource(object.GVK{Version: "v1", Kind: "Secret"})
	if err != nil {
		return nil, err
	}
	return c.Dynamic().Resource(res.GVR).Namespace(namespace), nil
}

func labelled(ctx context.Context, secrets dynamic.ResourceInterface, s dialect.Source) (map[string][]byte, string, error) {
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: s.SecretSelector.Selector})
	if err != nil {
		return nil, "", fmt.Errorf("list Secrets of %s in %s: %w", s.SecretSelector.Selector, s.Key.Namespace, err)
	}
	all := make([]object.Object, 0, len(list.Items))
	for _, u := range list.Items {
		all = append(all, u.Object)
	}
	chosen := s.SecretSelector.Choose(all)
	if chosen == nil {
		return nil, "", nil
	}
	return secretData(chosen)
}

func secretData(o object.Object) (map[string][]byte, string, error) {
	data, _ := o["data"].(map[string]any)
	out := make(map[string][]byte, len(data))
	for k, v := range data {
		s, _ := v.(string)
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, "", fmt.Errorf("key %s of Secret %s is not base64", k, o.Name())
		}
		out[k] = b
	}
	return out, o.Namespace() + "/" + o.Name(), nil
}
