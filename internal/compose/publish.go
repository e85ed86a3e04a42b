package compose

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/controller/instance"
)

// publishAgain is how long a controller waits that could not write it.
const publishAgain = 30 * time.Second

// publish writes down how this controller runs, and retries until that has succeeded or ctx ends.
func (s *service) publish(ctx context.Context) {
	warn := sync.OnceFunc(func() { s.warnOfOverlap(ctx) })
	for {
		err := instance.Publish(ctx, s.parts.cluster, s.published())
		if err == nil {
			warn()
			err = s.publishToken(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		s.options.Log.Warn("commands cannot know this controller's flags and log in at its page", "error", err.Error())
		select {
		case <-time.After(publishAgain):
		case <-ctx.Done():
		}
	}
}

// published is what this instance publishes. Commands find the status page on this machine, or within the pod.
func (s *service) published() instance.Settings {
	o := s.options
	out := instance.Settings{Version: s.parts.version, Namespaces: o.Namespaces, Process: o.Process, Catalogue: o.Catalogue, Remotes: o.Remotes}
	if s.local == nil {
		return out
	}
	host, port, err := net.SplitHostPort(s.local.Addr().String())
	if err != nil {
		return out
	}
	name, err := os.Hostname() // a pod's is its name
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" && err == nil {
		out.Pod = s.parts.cluster.Namespace() + "/" + name + ":" + port
		return out
	}
	out.Page = "http://" + net.JoinHostPort(host, port)
	return out
}

// publishToken publishes the token of the page; nothing where there is no page.
func (s *service) publishToken(ctx context.Context) error {
	if s.local == nil {
		return nil
	}
	return instance.PublishToken(ctx, s.parts.cluster, s.options.Namespaces.Home(s.parts.cluster.Namespace()), s.token)
}

// warnOfOverlap logs each other instance that works for a namespace of this one.
func (s *service) warnOfOverlap(ctx context.Context) {
	all, err := instance.List(ctx, s.parts.cluster, "")
	if err != nil {
		s.options.Log.Warn("cannot check whether another truce instance works for the same namespaces", "error", err.Error())
		return
	}
	ours := s.options.Namespaces
	for _, o := range all {
		shared := instance.Overlap(ours, o.Namespaces())
		if o.Home() != ours.Home(s.parts.cluster.Namespace()) && len(shared) > 0 && o.SignOfLife(ctx) == nil {
			s.options.Log.Warn("another truce instance works for the same namespaces, and both write there: give each instance its own namespaces by --namespace, or remove one",
				"other", o.String(), "shared", strings.Join(shared, ","))
		}
	}
}
