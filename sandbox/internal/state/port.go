package state

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const portName = "port"

// Listen opens the API server's socket on loopback and remembers its port.
// Port 0 means the port of the last run, so that a kubeconfig handed out
// earlier stays valid, or a free one if that is taken by now. Any other port is
// taken as it is or refused.
func (d *Dir) Listen(port int) (net.Listener, error) {
	if port == 0 {
		return d.listenAnywhere()
	}
	l, err := listenLocal(port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d on 127.0.0.1 is in use; stop the program that listens there or use --port 0", port)
	}
	if err != nil {
		return nil, err
	}
	return d.remember(l)
}

func (d *Dir) listenAnywhere() (net.Listener, error) {
	last, err := d.lastPort()
	if err != nil {
		return nil, err
	}
	l, err := listenLocal(last)
	if errors.Is(err, syscall.EADDRINUSE) {
		l, err = listenLocal(0)
	}
	if err != nil {
		return nil, err
	}
	return d.remember(l)
}

func listenLocal(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// lastPort is 0 in a new directory.
func (d *Dir) lastPort() (int, error) {
	text, err := os.ReadFile(d.Path(portName))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	said := strings.TrimSpace(string(text))
	port, err := strconv.ParseUint(said, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%s is damaged (%q is no port); remove this file", d.Path(portName), said)
	}
	return int(port), nil
}

func (d *Dir) remember(l net.Listener) (net.Listener, error) {
	port := l.Addr().(*net.TCPAddr).Port
	if err := os.WriteFile(d.Path(portName), fmt.Appendf(nil, "%d\n", port), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
