package cli

import (
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

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
	if f.service == "" {
		return p, nil
	}
	var ok bool
	if p.Namespace, p.Service, ok = strings.Cut(f.service, "/"); !ok || p.Namespace == "" || p.Service == "" {
		return p, usageError("--webhook-service %q: want NAMESPACE/NAME", f.service)
	}
	if p.Pod = os.Getenv("POD_IP"); net.ParseIP(p.Pod) == nil {
		return p, usageError("--webhook-service: the environment's POD_IP is %q: want this pod's IP address (fieldRef status.podIP)", p.Pod)
	}
	return p, nil
}
