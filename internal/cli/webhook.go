package cli

import (
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/controller/endpoint"
	"github.com/truce-gitops/truce/internal/controller/webhooks"
)

// webhookFlags say whether and where webhooks come in.
type webhookFlags struct {
	listen, service string
}

func (f *webhookFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "webhook-addr", "", "address for the webhooks of Receivers (/hook/...) and of Argo CD (/api/webhook), such as 0.0.0.0:9292; empty for none: Receivers are then left to Flux's notification-controller")
	flags.StringVar(&f.service, "webhook-service", "", "`NAMESPACE/NAME` of a Service without a selector by which webhooks come in; the leader points it at itself, by the environment's POD_IP")
}

func (f *webhookFlags) complete() (webhooks.Place, error) {
	p := webhooks.Place{Listen: f.listen}
	if f.listen == "" {
		if f.service != "" {
			return p, usageError("--webhook-service is the way to the address of webhooks: add --webhook-addr")
		}
		return p, nil
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return p, usageError("--webhook-addr %q: want ADDRESS:PORT", f.listen)
	}
	var err error
	p.Place, err = servicePlace("--webhook-service", f.service)
	return p, err
}

// servicePlace reads a flag that names a Service which the leader points at itself; an empty value is none.
func servicePlace(flag, value string) (p endpoint.Place, err error) {
	if value == "" {
		return p, nil
	}
	var ok bool
	if p.Namespace, p.Service, ok = strings.Cut(value, "/"); !ok || p.Namespace == "" || p.Service == "" {
		return p, usageError("%s %q: want NAMESPACE/NAME", flag, value)
	}
	if p.Pod = os.Getenv("POD_IP"); net.ParseIP(p.Pod) == nil {
		return p, usageError("%s: the environment's POD_IP is %q: want this pod's IP address (fieldRef status.podIP)", flag, p.Pod)
	}
	return p, nil
}

// pageService is the Service of the status page, to which the page's address must be open.
func pageService(value, listen string) (endpoint.Place, error) {
	host, _, err := net.SplitHostPort(listen)
	if value != "" && (err != nil || host == "localhost" || net.ParseIP(host).IsLoopback()) {
		return endpoint.Place{}, usageError("--page-service leads other pods to the status page, and --listen is %q: want an address that they reach, such as 0.0.0.0:8081", listen)
	}
	return servicePlace("--page-service", value)
}
