package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/truce-gitops/truce/sandbox/internal/apiserver"
	"github.com/truce-gitops/truce/sandbox/internal/controllers"
	"github.com/truce-gitops/truce/sandbox/internal/etcd"
	"github.com/truce-gitops/truce/sandbox/internal/pki"
	"github.com/truce-gitops/truce/sandbox/internal/state"
)

// cluster is what one run holds. Its fields are filled by prepare, in the order
// in which they are needed, and given back by release.
type cluster struct {
	cfg      Config
	api      *apiserver.Server
	dir      *state.Dir
	log      *os.File
	keys     *pki.Store
	listener net.Listener
	server   string
	store    *etcd.Server
}

// prepare does what can fail for a reason of the user's: wrong flags, a
// directory that is not ours, a port that is taken, damaged files.
func (c *cluster) prepare(ctx context.Context) error {
	var err error
	controllers.ActAsComponent("kube-apiserver")
	if c.api, err = apiserver.NewServer(c.cfg.APIServerFlags); err != nil {
		return err
	}
	if c.dir, err = state.OpenDir(c.cfg.Dir); err != nil {
		return err
	}
	if c.log, err = openLog(c.dir.Path("sandbox.log")); err != nil {
		return err
	}
	if err := c.loadKeys(); err != nil {
		return err
	}
	if c.listener, err = c.dir.Listen(c.cfg.Port); err != nil {
		return err
	}
	c.server = "https://" + c.listener.Addr().String()
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	c.store, err = etcd.StartServer(ctx, etcd.Config{Dir: c.dir.Path("etcd"), Sync: c.cfg.Sync, Log: c.log})
	return err
}

func (c *cluster) loadKeys() error {
	dir, err := c.dir.Make("pki")
	if err != nil {
		return err
	}
	c.keys, err = pki.LoadStore(dir)
	return err
}

func (c *cluster) kubeconfig() string { return c.dir.Path("kubeconfig") }

func (c *cluster) writeKubeconfigs() error {
	for _, k := range []struct {
		file, user string
		groups     []string
	}{
		{c.kubeconfig(), "admin", []string{"system:masters"}},
		{c.dir.Path("pki", "controller-manager.kubeconfig"), controllers.ManagerUser, nil},
		{c.dir.Path("pki", "scheduler.kubeconfig"), controllers.SchedulerUser, nil},
	} {
		if err := c.keys.WriteKubeconfig(k.file, c.server, k.user, k.groups...); err != nil {
			return err
		}
	}
	return nil
}

// apiConfig issues the API server's certificates and names its files.
func (c *cluster) apiConfig() (apiserver.Config, error) {
	cfg := apiserver.Config{
		Listener:         c.listener,
		EtcdEndpoint:     c.store.Endpoint,
		ClientCAFile:     c.keys.Cluster.CertFile,
		FrontProxyCAFile: c.keys.FrontProxy.CertFile,
		TokenKeyFile:     c.keys.TokenKeyFile,
		AuditLog:         c.cfg.AuditLog,
	}
	pair, err := c.keys.Cluster.Server("127.0.0.1", "localhost", apiserver.ServiceIP,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return cfg, err
	}
	if cfg.CertFile, cfg.KeyFile, err = c.keys.Write("apiserver", pair); err != nil {
		return cfg, err
	}
	if pair, err = c.keys.FrontProxy.Client(apiserver.ProxyUser); err != nil {
		return cfg, err
	}
	if cfg.ProxyCertFile, cfg.ProxyKeyFile, err = c.keys.Write("front-proxy-client", pair); err != nil {
		return cfg, err
	}
	if cfg.AuditLog != "" {
		cfg.AuditPolicy = c.dir.Path("audit-policy.yaml")
		err = os.WriteFile(cfg.AuditPolicy, []byte(apiserver.AuditPolicy), 0o600)
	}
	return cfg, err
}

// release gives everything back, the last taken first.
func (c *cluster) release() {
	if c.store != nil {
		c.store.Close()
	}
	var err error
	if c.listener != nil {
		// A running API server has closed it by now; one that never ran has not.
		err = c.listener.Close()
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		fmt.Fprintln(c.log, "listener:", err)
	}
	if c.dir != nil {
		if err := c.dir.Close(); err != nil {
			fmt.Fprintln(c.log, "directory:", err)
		}
	}
}
