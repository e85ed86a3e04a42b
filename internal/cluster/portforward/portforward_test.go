package portforward_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster/portforward"
)

// TestOpenForwardEndsWithItsContext opens a port through a server that answers nothing.
func TestOpenForwardEndsWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	ended := make(chan error, 1)
	go func() {
		_, _, err := portforward.OpenForward(ctx, &rest.Config{Host: "http://" + silent.Addr().String()}, "shop/truce:8080")
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on after the end of its context")
	}
}
