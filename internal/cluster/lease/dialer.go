package lease

import (
	"context"
	"net"
)

// Dialer opens the connections to a server. It may be used concurrently.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
