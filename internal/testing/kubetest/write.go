package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

var (
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
)

// Namespace returns the name of a new namespace in which pods can be made, and deletes it after the test, without
// waiting for the end of that.
func (c *Cluster) Namespace(t *testing.T) string {
	t.Helper()
	client := c.dynamic.Resource(namespaces)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": namespacePrefix(t.Name())},
	}}
	made, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	t.Cleanup(func() {
		err := client.Delete(context.Background(), made.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete namespace: %v", err)
		}
	})
	// A pod is refused, and tried again late, until a controller has made the account that it runs as.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c.Watch(t, serviceAccounts, made.GetName(), "default").Await(ctx, exists)
	return made.GetName()
}

func exists(*unstructured.Unstructured) bool { return true }

var notOfNames = regexp.MustCompile(`[^a-z0-9]+`)

// namespacePrefix makes the test's name fit to begin a namespace's.
func namespacePrefix(test string) string {
	name := notOfNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-")
	return "t-" + strings.Trim(name[:min(len(name), 40)], "-") + "-"
}

// Kubectl runs kubectl against the cluster and returns its standard output. The test fails when kubectl does.
func (c *Cluster) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// Apply does what `kubectl apply --server-side --force-conflicts` would as field manager "kubetest" with each document
// of a YAML text, in order, and returns the objects as the server made them.
func (c *Cluster) Apply(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	return c.ApplyAs(t, "kubetest", text)
}

// ApplyAs is Apply in the name of another field manager.
func (c *Cluster) ApplyAs(t *testing.T, manager, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := documents(text)
	if err != nil {
		t.Fatalf("read YAML to apply: %v", err)
	}
	applied := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		client, err := c.client(o)
		if err != nil {
			t.Fatal(err)
		}
		live, err := client.Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil {
			t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		applied = append(applied, live)
	}
	return applied
}

func documents(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var data map[string]any
		err := decoder.Decode(&data)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if data != nil {
			objects = append(objects, &unstructured.Unstructured{Object: data})
		}
	}
}

// client asks the server for each kind that it has not named before, as a test may just have made it.
func (c *Cluster) client(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	found, ok := c.kinds.Load(gvk)
	if !ok {
		k, err := c.kind(gvk)
		if err != nil {
			return nil, err
		}
		found = k
		c.kinds.Store(gvk, k)
	}
	k, _ := found.(metav1.APIResource) // nothing else is stored
	all := c.dynamic.Resource(gvk.GroupVersion().WithResource(k.Name))
	if !k.Namespaced {
		return all, nil
	}
	return all.Namespace(o.GetNamespace()), nil
}

func (c *Cluster) kind(gvk schema.GroupVersionKind) (metav1.APIResource, error) {
	kinds, err := c.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if err != nil {
		return metav1.APIResource{}, fmt.Errorf("look up %s: %w", gvk, err)
	}
	for _, k := range kinds.APIResources {
		if k.Kind == gvk.Kind && !strings.Contains(k.Name, "/") {
			return k, nil
		}
	}
	return metav1.APIResource{}, fmt.Errorf("look up %s: the server has no such kind", gvk)
}
