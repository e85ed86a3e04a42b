package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"io"
	"net/http"
)

// Dashboard opens the status page of the controller that works for a namespace, and logs in a browser there. The page of a pod is reached until
// ctx ends.
func (c *Cluster) Dashboard(ctx context.Context, namespace string) (link, pod string, err error) {
	all, err := instance.WorkingFor(ctx, c.cluster, namespace)
	if err != nil {
		return "", "", err
	}
	var failed error
	for _, o := range believed(all, namespace) {
		link, err := openDashboard(ctx, o)
		if err == nil {
			return link, o.Pod(), nil
		}
		if failed == nil && !errors.Is(err, instance.ErrNoPage) {
			failed = err
		}
	}
	if failed != nil {
		return "", "", failed
	}
	return "", "", fmt.Errorf("%w, or you may not read that (ConfigMap %s)", instance.ErrNoPage, instance.ConfigMap)
}

// openDashboard returns a link to the page of an instance, which logs in.
func openDashboard(ctx context.Context, i instance.Instance) (string, error) {
	page, _, err := i.OpenPage(ctx)
	if err != nil {
		return "", err
	}
	token, err := i.PageToken(ctx)
	if err != nil {
		return "", err
	}
	path, err := logInToPage(ctx, page, token)
	return page + path, err
}

// logInToPage asks a page for a link that logs in a browser.
func logInToPage(ctx context.Context, page, token string) (path string, err error) {
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
