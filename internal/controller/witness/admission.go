package witness

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/permissions"
	"k8s.io/utils/clock"
)

// Options say how reviews are to be received.
type Options struct {
	Cluster *cluster.Client
	Home    string            // the namespace in which ConfigMaps may be made, as a dry run
	Place   attribution.Place // the zero Place for no reviews
	Log     *slog.Logger
}

// configuration is the name of the ValidatingWebhookConfiguration.
func (o Options) configuration() string { return permissions.WitnessPrefix + o.Home }

// Kinds knows what is in use. It may be called concurrently.
type Kinds interface {
	// InUse returns the kinds that are in use, the label of the objects in question, empty for all of the kinds, and the namespaces in
	// which they lie, none for everywhere.
	InUse() (kinds []object.GVK, mark string, namespaces []string)
}

// token is the length of the part of the path that only the API server knows, in bytes.
const token = 16

// receive receives reviews until ctx ends. A failure to configure the API server is logged and retried: nothing else waits for it.
func (s *Sight) receive(ctx context.Context) error {
	l, err := net.Listen("tcp", s.options.Place.Listen)
	if err != nil {
		return fmt.Errorf("listen for the witness: %w", err)
	}
	k, host, err := newRegistrar(s.options, l.Addr())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if k.authority, err = newAuthority(host, clock.RealClock{}); err != nil {
		return errors.Join(err, l.Close())
	}
	r := newReceiver(k.setup.Path, s.ring)
	serving, end := context.WithCancel(context.WithoutCancel(ctx)) // until the API server asks no more
	defer end()
	g, _ := errgroup.WithContext(ctx)
	g.Go(func() error { r.drain(serving); return nil })
	g.Go(func() error { return serveTLS(serving, l, r, k.authority, s.options.Log) })
	k.ring, k.kinds, k.changed, k.heard = s.ring, s.kinds, s.used, r.heard
	k.keep(ctx)
	end()
	return g.Wait()
}

// newRegistrar decides how the API server reaches the listener, and under which name it must show itself.
func newRegistrar(o Options, at net.Addr) (*registrar, string, error) {
	secret := make([]byte, token)
	if _, err := rand.Read(secret); err != nil {
		return nil, "", fmt.Errorf("make a path for the witness: %w", err)
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil, "", err
	}
	k := &registrar{Options: o, setup: attribution.Setup{Name: o.configuration(), Home: o.Home, Path: "/" + hex.EncodeToString(secret)}}
	if o.Place.Service != "" {
		var ok bool
		if k.setup.In, k.setup.By, ok = strings.Cut(o.Place.Service, "/"); !ok {
			return nil, "", fmt.Errorf("service of the witness: %q: want NAMESPACE/NAME", o.Place.Service)
		}
		if net.ParseIP(o.Place.Pod) == nil {
			return nil, "", fmt.Errorf("service of the witness: the address of this pod is %q: want an IP address (POD_IP)", o.Place.Pod)
		}
		k.setup.Port = servicePort
		k.port, err = strconv.ParseInt(port, 10, 32)
		return k, k.setup.By + "." + k.setup.In + ".svc", err
	}
	u, err := url.Parse(cmp.Or(o.Place.URL, "https://"+at.String()))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, "", fmt.Errorf("URL of the witness: %q: want https://HOST:PORT", o.Place.URL)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + k.setup.Path
	k.setup.Path = u.Path
	k.setup.URL = u.String()
	return k, u.Hostname(), nil
}

// The port at which the Service is reached, and its name: the Service's and the EndpointSlice's are one by that.
const (
	servicePort     = 443
	servicePortName = "https"
)

var (
	configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	configMaps     = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)
