package instance

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/cluster/portforward"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Instance is one truce, as it has published itself.
type Instance struct {
	cluster   *cluster.Client
	configMap object.Object
}

// FromConfigMap returns the instance that has written a ConfigMap.
func FromConfigMap(c *cluster.Client, configMap object.Object) Instance {
	return Instance{c, configMap}
}

// deployed is the namespace that deploy/ installs truce in.
const deployed = "truce-system"

// ListInstances returns all instances that say that they are in the cluster, those of the most trusted places first. Without permission to list
// ConfigMaps in the whole cluster it reads those of the namespaces where one may be: that of the installation, that of the connection, and the given one.
func ListInstances(ctx context.Context, c *cluster.Client, namespace string) ([]Instance, error) {
	list, err := ConfigMaps(c, "").List(ctx, metav1.ListOptions{LabelSelector: Label + "=true"})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list ConfigMaps of controllers: %w", err)
	}
	var out []Instance
	if err == nil {
		for _, u := range list.Items {
			out = append(out, FromConfigMap(c, u.Object))
		}
		return inOrder(out), nil
	}
	places := []string{deployed, c.Namespace(), namespace}
	slices.Sort(places)
	for _, ns := range slices.Compact(places) {
		u, err := ConfigMaps(c, ns).Get(ctx, ConfigMap, metav1.GetOptions{})
		switch {
		case err == nil:
			out = append(out, FromConfigMap(c, u.Object))
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", ns, ConfigMap, err)
		}
	}
	return inOrder(out), nil
}

// WorkingFor returns the instances that say that they work for a namespace, all for "", but for those of which the ConfigMap alone is left.
func WorkingFor(ctx context.Context, c *cluster.Client, namespace string) ([]Instance, error) {
	all, err := ListInstances(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	if namespace != "" {
		all = slices.DeleteFunc(all, func(i Instance) bool { return !i.Namespaces().Cover(namespace) })
	}
	return withoutEnded(ctx, all), nil
}

// Namespaces are those that the instance works for; none means all.
func (i Instance) Namespaces() cluster.Namespaces {
	return splitNames(i.value(keyNamespaces))
}

// splitNames returns the names of a list with commas between.
func splitNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// Home is the namespace of the instance.
func (i Instance) Home() string { return i.configMap.Namespace() }

// Policy are the policies that its flags set.
func (i Instance) Policy() policy.Policy {
	return policy.Policy{
		Claims: policy.Claims(i.value(keyClaims)), Mode: policy.Mode(i.value(keyMode)),
		Pause: policy.ManualChanges(i.value(keyPause)), Additions: policy.ManualChanges(i.value(keyAdditions)),
	}
}

// Version is the version of truce.
func (i Instance) Version() string { return i.value(keyVersion) }

// Claims is its file of claims beyond the built-in ones; empty for none.
func (i Instance) Claims() string { return i.value(keyCatalogue) }

// Remotes are the hosts that its remote bases may be at.
func (i Instance) Remotes() upstream.Hosts { return remotesOf(i.value(keyRemotes)) }

// Pod is namespace/name:port of its status page; empty for a page outside of the cluster, or none.
func (i Instance) Pod() string { return i.value(keyPod) }

func (i Instance) value(key string) string {
	s, _ := i.configMap.At("data", key).(string)
	return s
}

// String names the ConfigMap.
func (i Instance) String() string {
	return "ConfigMap " + i.configMap.Namespace() + "/" + i.configMap.Name()
}

// Flags are the flags that decide what it does, as they are given on a command line.
func (i Instance) Flags() string {
	var out []string
	for _, flag := range []string{keyClaims, keyMode, keyPause, keyAdditions, keyShared, keySameOnly, keyAccount, keyTokens, keyAdmins} {
		if value := i.value(flag); value != "" {
			out = append(out, "--"+flag+"="+value)
		}
	}
	return strings.Join(out, " ")
}

// answersWithin is how long a status page may take to answer.
const answersWithin = 3 * time.Second

// SignOfLife returns nil if the instance holds its Lease or its status page answers, else why it is not known to run. That is no proof that it
// does not: an instance needs neither.
func (i Instance) SignOfLife(ctx context.Context) error {
	if i.leads(ctx) {
		return nil
	}
	return i.pageAnswers(ctx)
}

// leads reports whether a controller holds the Lease in the instance's namespace; false where the Lease may not be read.
func (i Instance) leads(ctx context.Context) bool {
	u, err := i.cluster.Dynamic().Resource(lease.Resource).Namespace(i.Home()).Get(ctx, LeaseName, metav1.GetOptions{})
	return err == nil && lease.IsLeaseHeld(u.Object, time.Now())
}

// pageAnswers asks the status page for its health.
func (i Instance) pageAnswers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	page, stop, err := i.OpenPage(ctx)
	if errors.Is(err, ErrNoPage) {
		return fmt.Errorf("it has no status page, and holds no Lease %s", LeaseName)
	}
	if err != nil {
		return err
	}
	defer stop()
	ask := page + "/healthz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it has been read, or is given up
	said, err := io.ReadAll(io.LimitReader(answer.Body, 256))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", ask, answer.Status, strings.TrimSpace(string(said)))
	}
	return err
}

// ErrNoPage is the error of an instance that has published no status page.
var ErrNoPage = errors.New("no controller says where its status page is")

// OpenPage returns the address of its status page on this machine. The page of a pod is forwarded until stop is called or ctx ends.
func (i Instance) OpenPage(ctx context.Context) (address string, stop func(), err error) {
	if pod := i.Pod(); pod != "" {
		return portforward.OpenForward(ctx, i.cluster.Config(), pod)
	}
	page := i.value(keyPage)
	switch {
	case page == "":
		return "", nil, ErrNoPage
	case !isLocalPage(page):
		return "", nil, fmt.Errorf("%s names a status page that is not on this machine: %.100q", i, page)
	}
	return page, func() {}, nil
}

// PageToken reads the token of its status page.
func (i Instance) PageToken(ctx context.Context) (string, error) {
	u, err := i.cluster.Dynamic().Resource(SecretResource).Namespace(i.Home()).Get(ctx, Secret, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("log in at the status page: read Secret %s/%s: %w", i.Home(), Secret, err)
	}
	encoded, _ := object.Object(u.Object).At("data", keyToken).(string)
	token, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(token) == 0 {
		return "", fmt.Errorf("log in at the status page: Secret %s/%s has no %s", i.Home(), Secret, keyToken)
	}
	return string(token), nil
}
