// Package etcd answers: where are the cluster's objects kept?
//
// In: a directory, whether writes must survive a power cut.
// Out: the endpoint of a running single-member etcd.
// Promise: no TCP port is opened; the socket is in a directory that only this user may enter; damaged data is an error, not an exit.
// Not here: what is stored (the API server's business).
package etcd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Sync says when a write counts as done.
type Sync string

const (
	// SyncDisk waits for the disk: what was written survives a power cut.
	SyncDisk Sync = "disk"
	// SyncNone leaves it to the kernel: what was written survives the end of
	// the process, not that of the machine. For tests.
	SyncNone Sync = "none"
)

// closeLimit is for requests without an end, such as the watches of an API
// server that hangs: etcd itself waits 5 s for them.
const closeLimit = time.Second

// Config says how to run.
type Config struct {
	// Dir holds the data; made if absent.
	Dir string
	// Sync must be one of the two constants.
	Sync Sync
	// Log takes etcd's own log.
	Log io.Writer
}

// Server is a running etcd.
type Server struct {
	// Endpoint is what the API server calls: unix:///….
	Endpoint string

	dir     string
	etcd    *embed.Etcd
	sockets socketDir
}

// StartServer returns when the server takes requests. A damaged directory gives an
// error that names it.
func StartServer(ctx context.Context, cfg Config) (*Server, error) {
	sockets, err := newSocketDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: cfg.Dir, sockets: sockets, Endpoint: "unix://" + filepath.Join(sockets.path, socketName)}
	if err := s.start(ctx, cfg); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, cfg Config) error {
	var err error
	if s.etcd, err = startEmbedded(ctx, cfg, s.Endpoint); err != nil {
		return err
	}
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err = <-s.etcd.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return fmt.Errorf("etcd in %s: %w", cfg.Dir, err)
}

// Err reports a failure of the running server.
func (s *Server) Err() <-chan error { return s.etcd.Err() }

// Close ends the server after its last write, and takes not much longer than
// closeLimit. What is still open then ends with the process, as in a crash.
func (s *Server) Close() {
	if s.etcd != nil && s.close() {
		_ = markClean(s.dir) // without it the next start reads the database through
	}
	s.sockets.remove()
}

// close reports whether the server has ended in time.
func (s *Server) close() bool {
	done := make(chan struct{})
	go func() {
		s.etcd.Close()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(closeLimit):
		return false
	}
}

// startEmbedded starts etcd, without waiting longer than the context for one that hangs.
func startEmbedded(ctx context.Context, cfg Config, endpoint string) (*embed.Etcd, error) {
	var (
		e    *embed.Etcd
		err  error
		last = new(lastError)
		log  = newLogger(cfg.Log, last)
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		e, err = launchHere(configuration(cfg, endpoint, log), log)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("etcd in %s: %w", cfg.Dir, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("data in %s is damaged: %s; put it back, or remove the whole directory to start from nothing", cfg.Dir, last.or(err.Error()))
	}
	return e, nil
}

// launchHere makes an error of a panic. On data that it cannot read etcd panics
// or exits; our logger turns the exit into a panic.
func launchHere(cfg *embed.Config, log *zap.Logger) (e *embed.Etcd, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			log.Warn("panic at start", zap.Any("cause", cause), zap.Stack("stack"))
			err = fmt.Errorf("%v", cause)
		}
	}()
	if err := checkData(cfg.Dir, log); err != nil {
		return nil, err
	}
	return embed.StartEtcd(cfg)
}

func configuration(cfg Config, endpoint string, log *zap.Logger) *embed.Config {
	client := url.URL{Scheme: "unix", Path: strings.TrimPrefix(endpoint, "unix://")}
	// A single member has no peer: the address is a name only, without a listener.
	nominal := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}

	c := embed.NewConfig()
	c.Name = "sandbox"
	c.Dir = cfg.Dir
	c.ListenClientUrls = []url.URL{client}
	c.AdvertiseClientUrls = []url.URL{client}
	c.ListenPeerUrls = nil
	c.AdvertisePeerUrls = []url.URL{nominal}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	c.UnsafeNoFsync = cfg.Sync == SyncNone
	c.QuotaBackendBytes = 4 << 30
	// One member elects itself: waiting the default second for other votes
	// would be half of our start.
	c.TickMs, c.ElectionMs = 10, 100
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	return c
}
