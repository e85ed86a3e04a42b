package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/model/object"
)

// leaseName is the name of the Lease by which one of several controllers leads, where no flag names another.
const leaseName = "truce-controller"

// answersWithin is how long a status page is waited for.
const answersWithin = 3 * time.Second

// alive looks for a sign of life of a controller that works for a namespace: a Lease that is renewed, or a status page that answers.
// Without one it says what it has seen instead: no proof that none runs, since a controller needs neither.
func (c *client) alive(ctx context.Context, namespace string) (doubt string, err error) {
	found, err := c.published(ctx, namespace)
	if err != nil {
		return "", err
	}
	doubt = fmt.Sprintf("no controller says that it works for namespace %s (ConfigMap %s)", namespace, processConfig)
	for _, o := range found {
		none := c.sign(ctx, o)
		if none == nil {
			return "", nil
		}
		doubt = fmt.Sprintf("the controller of %s gives no sign of life (%v)", where(o), none)
	}
	return doubt, nil
}

// sign is nil for a sign of life of the controller that has written something down, else why there is none.
func (c *client) sign(ctx context.Context, published object.Object) error {
	if c.leads(ctx, published.Namespace()) {
		return nil
	}
	return c.answers(ctx, published)
}

// leads reports whether somebody holds the Lease of a namespace's controllers. Who may not read it does not know.
func (c *client) leads(ctx context.Context, namespace string) bool {
	u, err := c.parts.cluster.Dynamic().Resource(leases).Namespace(namespace).Get(ctx, leaseName, metav1.GetOptions{})
	return err == nil && renewed(object.Object(u.Object), time.Now())
}

// answers asks the status page that a controller has written down for its health.
func (c *client) answers(ctx context.Context, published object.Object) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	page, stop, err := c.page(ctx, published)
	if errors.Is(err, errNoPage) {
		return fmt.Errorf("it has no status page, and holds no Lease %s", leaseName)
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
