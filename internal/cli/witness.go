package cli

import (
	"errors"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/decide/attribution"
)

// witnessFlags say whether and where the admission witness listens.
type witnessFlags struct {
	on    bool
	place attribution.Place
}

func (f *witnessFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "witness", false, "let the API server report writes (a ValidatingWebhookConfiguration that never blocks a request), so that the user behind a change is known")
	flags.StringVar(&f.place.Listen, "witness-listen", "127.0.0.1:0", "address at which the API server reports writes")
	flags.StringVar(&f.place.URL, "witness-url", "", "https://HOST:PORT at which the API server reaches that address; without it the address itself")
}

// addService is for controllers in a cluster.
func (f *witnessFlags) addService(flags *pflag.FlagSet) {
	flags.StringVar(&f.place.Service, "witness-service", "", "`NAMESPACE/NAME` of a Service without a selector by which the API server reaches the address; the leader points it at itself, by the environment's POD_IP")
}

func (f *witnessFlags) complete() (attribution.Place, error) {
	p := f.place
	if !f.on {
		if p.URL != "" || p.Service != "" {
			return p, usageError("--witness-url and --witness-service say where the witness is: add --witness")
		}
		return attribution.Place{}, nil
	}
	if _, _, err := net.SplitHostPort(p.Listen); err != nil {
		return p, usageError("--witness-listen %q: want ADDRESS:PORT", p.Listen)
	}
	if p.URL != "" && p.Service != "" {
		return p, usageError("--witness-url and --witness-service exclude each other")
	}
	if err := checkReachable(p.URL); p.URL != "" && err != nil {
		return p, usageError("--witness-url %q: %v", p.URL, err)
	}
	if p.Service == "" {
		return p, nil
	}
	if namespace, name, ok := strings.Cut(p.Service, "/"); !ok || namespace == "" || name == "" {
		return p, usageError("--witness-service %q: want NAMESPACE/NAME", p.Service)
	}
	if p.Pod = os.Getenv("POD_IP"); net.ParseIP(p.Pod) == nil {
		return p, usageError("--witness-service: the environment's POD_IP is %q: want this pod's IP address (fieldRef status.podIP)", p.Pod)
	}
	return p, nil
}

func checkReachable(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("want https://HOST:PORT")
	}
	return nil
}
