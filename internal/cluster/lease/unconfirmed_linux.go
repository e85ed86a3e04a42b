package lease

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7).
const tcpUserTimeout = 18

// dropUnconfirmed makes the kernel end a connection whose bytes are not confirmed for so long, instead of sending them again for minutes.
func dropUnconfirmed(c net.Conn, after time.Duration) error {
	tcp, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return fmt.Errorf("limit the delivery of writes: %w", err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(after.Milliseconds()))
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("limit the delivery of writes: %w", err)
	}
	return nil
}
