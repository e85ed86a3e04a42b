package controller

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// Credentials reads the Secrets that a source names or chooses, and its Settings. One that is not there is absent from the answer: the dialect says which one
// is missing. That the service account is not there is a *source.Error.
func Credentials(ctx context.Context, c *cluster.Client, s dialect.Source) (source.Secrets, error) {
	settings, err := settingsOf(ctx, c, s)
	out := source.Secrets{Settings: settings}
	if err != nil || s.Secret == "" && s.SecretSelector.Choose == nil && len(s.OtherSecrets) == 0 && s.ServiceAccount == "" {
		return out, err
	}
	secrets, err := resourcesIn(c, "Secret", s.Key.Namespace)
	if err != nil {
		return out, err
	}
	switch {
	case s.Secret != "":
		out.Main, out.Origin, err = secretNamed(ctx, secrets, s, s.Secret)
	case s.SecretSelector.Choose != nil:
		out.Main, out.Origin, err = labelled(ctx, secrets, s)
	}
	if err != nil {
		return out, err
	}
	if out.Other, err = otherSecrets(ctx, secrets, s); err != nil {
		return out, err
	}
	out.Pull, err = pullSecrets(ctx, c, s, secrets)
	return out, err
}

// secretNamed returns the data of a Secret; nil where it is not there.
func secretNamed(ctx context.Context, secrets dynamic.ResourceInterface, s dialect.Source, name string) (map[string][]byte, string, error) {
	if name == "" { // the schema of an account allows that
		return nil, "", nil
	}
	u, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read Secret %s/%s: %w", s.Key.Namespace, name, err)
	}
	return secretData(u.Object)
}

// settingsOf reads the ConfigMaps that say how the servers of a source are verified. One that is not there is left out.
func settingsOf(ctx context.Context, c *cluster.Client, s dialect.Source) (map[string]map[string]string, error) {
	if len(s.Settings) == 0 {
		return nil, nil
	}
	configMaps, err := resourcesIn(c, "ConfigMap", s.Key.Namespace)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, name := range s.Settings {
		u, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", s.Key.Namespace, name, err)
		}
		data, _ := u.Object["data"].(map[string]any)
		out[name] = map[string]string{}
		for key, v := range data {
			out[name][key], _ = v.(string)
		}
	}
	return out, nil
}

func otherSecrets(ctx context.Context, secrets dynamic.ResourceInterface, s dialect.Source) (map[string]map[string][]byte, error) {
	out := map[string]map[string][]byte{}
	for _, name := range s.OtherSecrets {
		data, _, err := secretNamed(ctx, secrets, s, name)
		if err != nil {
			return nil, err
		}
		if data != nil {
			out[name] = data
		}
	}
	return out, nil
}

// pullSecrets reads the image pull secrets of the source's service account. As for a kubelet, one that is not there is left out.
func pullSecrets(ctx context.Context, c *cluster.Client, s dialect.Source, secrets dynamic.ResourceInterface) ([]map[string][]byte, error) {
	if s.ServiceAccount == "" {
		return nil, nil
	}
	accounts, err := resourcesIn(c, "ServiceAccount", s.Key.Namespace)
	if err != nil {
		return nil, err
	}
	u, err := accounts.Get(ctx, s.ServiceAccount, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		why := errors.New("ServiceAccount " + s.ServiceAccount + " is not there")
		return nil, &source.Error{Op: "read", Subject: s.Key.String(), Reason: source.AuthenticationFailed, Err: why}
	}
	if err != nil {
		return nil, fmt.Errorf("read ServiceAccount %s/%s: %w", s.Key.Namespace, s.ServiceAccount, err)
	}
	var out []map[string][]byte
	list, _ := u.Object["imagePullSecrets"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		data, _, err := secretNamed(ctx, secrets, s, name)
		if err != nil {
			return nil, err
		}
		if data != nil {
			out = append(out, data)
		}
	}
	return out, nil
}

func resourcesIn(c *cluster.Client, kind, namespace string) (dynamic.ResourceInterface, error) {
	res, err := c.Resource(object.GVK{Version: "v1", Kind: kind})
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
