//go:build !linux

package lease

import (
	"net"
	"time"
)

// dropUnconfirmed does nothing: other systems have no such option, or another one.
func dropUnconfirmed(net.Conn, time.Duration) error { return nil }
