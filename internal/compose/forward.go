package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/truce-gitops/truce/internal/cluster/portforward"
	"github.com/truce-gitops/truce/internal/model/object"
)

// errNoPage says that there is nobody to ask for a journal.
var errNoPage = errors.New("no controller says where its status page is")

// dashboard opens the status page of the controller that works for a namespace, and logs in a browser there. The page of a pod is reached until
// ctx ends.
func (c *client) dashboard(ctx context.Context, namespace string) (link, pod string, err error) {
	found, err := c.published(ctx, namespace)
	if err != nil {
		return "", "", err
	}
	for _, o := range found {
		page, _, err := c.page(ctx, o)
		if errors.Is(err, errNoPage) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		token, err := c.pageToken(ctx, o)
		if err != nil {
			return "", "", err
		}
		path, err := logIn(ctx, page, token)
		return page + path, text(o, "data", keyPod), err
	}
	return "", "", fmt.Errorf("%w (ConfigMap %s)", errNoPage, processConfig)
}

// logIn asks a page for a link that logs in a browser.
func logIn(ctx context.Context, page, token string) (path string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, page+"/login", nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("log in at the status page: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it has been read, or is given up
	said, err := io.ReadAll(io.LimitReader(answer.Body, 1024))
	if err == nil && answer.StatusCode != http.StatusCreated {
		err = errors.New(answer.Status + ": " + string(bytes.TrimSpace(said)))
	}
	if err != nil {
		return "", fmt.Errorf("log in at the status page: %w", err)
	}
	return string(bytes.TrimSpace(said)), nil
}

// page opens the status page that a controller has published, and returns its address on this machine until stop is called: the page of
// a pod answers within the pod only.
func (c *client) page(ctx context.Context, published object.Object) (address string, stop func(), err error) {
	if pod := text(published, "data", keyPod); pod != "" {
		return portforward.Open(ctx, c.parts.cluster.Config(), pod)
	}
	if page := text(published, "data", keyPage); page != "" {
		return page, func() {}, nil
	}
	return "", nil, errNoPage
}
