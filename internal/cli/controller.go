package cli

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/keyservice"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"k8s.io/apimachinery/pkg/labels"
)

const longController = `Run the controller until SIGTERM or Ctrl-C. In a pod it uses the pod's service account.

It keeps what the cluster's Kustomizations describe equal to Git. Where a custom resource says
nothing, the flags hold; annotations on it (truce.dev/claims, truce.dev/mode, truce.dev/pause, truce.dev/additions)
go over them.

With --namespace it reconciles the custom resources of those namespaces only, and permissions in them
are enough (deploy/rbac/one-namespace). A cluster has one instance for all namespaces, or several with
disjoint namespaces: an instance does not touch the objects of apps in other namespaces. Two instances
that share a namespace both write there; the log, truce check and truce app get warn of it.
Autoscalers and other claimants count in all namespaces.

An instance's own state is in one namespace: its Lease, the ConfigMaps truce-controller and truce-claims, and the Secrets
truce-inventory-key and truce-page. That is --runtime-namespace; without it the first --namespace, else the one of the kubeconfig's
context or of the pod. Each instance needs another one: two with the same one share a Lease, and the one that stands by does nothing, and
logs a warning that says so. Who may write there decides what the instance prunes and whom it cedes to: where
the namespaces of --namespace are tenants', give --runtime-namespace one that tenants cannot write to.

A source may be at any public or private address, so that servers in the cluster work, but not at a loopback or link-local address or a
cloud's metadata service: who writes a source would have truce ask them. --allow-source-hosts lists exceptions; --no-private-sources
refuses private addresses too. Git is bound to the addresses that were judged, and follows no redirect to another server. Where the
environment names a proxy, the proxy resolves names and decides.

What a kustomization names by its address, a directory of a git repository, a single file or a chart, is fetched as Flux and Argo CD do: over
https, without credentials, from servers with public addresses only. What is not pinned to a commit, a digest or one version of a chart is
fetched again at the app's interval, and its app says so. --remote-hosts lists the only hosts that may be named, whatever their addresses;
--no-remote-bases fetches nothing.

With --multi-tenant an app of a tenant's namespace has no rights but those of a service account of that namespace (docs/security.md):
the controller needs the right to impersonate it. The controller's own namespace, which is that of its pod or of its
kubeconfig's context, and --admin-namespaces are the administrators'; the first --namespace is not one by being first, nor
is --runtime-namespace.`

const exampleController = `  # in a cluster, one of two replicas at work
  truce controller --leader-elect --listen 127.0.0.1:8081 --metrics-listen 0.0.0.0:8080

  # for one team's apps only
  truce controller --namespace team-a --namespace team-a-tools --runtime-namespace truce-team-a

  # send Events to Flux's notification-controller, and so to its Providers and Alerts
  truce controller --events-addr http://notification-controller.flux-system/

  # where tenants share the cluster, and administrators keep apps in flux-system
  truce controller --multi-tenant --admin-namespaces flux-system

  # beside running Flux controllers: only say what would be done
  truce controller --mode observe`

// processFlags are the policies of a process.
type processFlags struct{ claims, mode, pause, additions string }

func (f *processFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.claims, "claims", "", "fields that another controller has a right to: cede (default), report, off (plain GitOps: enforce Git, and fight)")
	flags.StringVar(&f.mode, "mode", "", "enforce (default), or observe: report what would be done and write nothing")
	flags.StringVar(&f.pause, "pause", "", "an autoscaled workload that a person has scaled to 0: report (default), correct")
	flags.StringVar(&f.additions, "additions", "", "fields that were added to an object and that Git does not name: correct, report, allow; without it a Kustomization corrects what people added, and an Application reports")
}

func (f *processFlags) policy() (policy.Policy, error) {
	for _, flag := range []struct {
		name, value string
		words       []string
	}{
		{"--claims", f.claims, []string{"cede", "report", "off"}},
		{"--mode", f.mode, []string{"enforce", "observe"}},
		{"--pause", f.pause, []string{"report", "correct"}},
		{"--additions", f.additions, []string{"correct", "report", "allow"}},
	} {
		if err := checkOneOf(flag.name, flag.value, flag.words); flag.value != "" && err != nil {
			return policy.Policy{}, err
		}
	}
	out := policy.Policy{Claims: policy.Claims(f.claims), Mode: policy.Mode(f.mode), Pause: policy.ManualChanges(f.pause), Additions: policy.ManualChanges(f.additions)}
	if why := out.Contradiction(); why != "" {
		return policy.Policy{}, usageError("--claims %s --pause %s: %s", f.claims, f.pause, why)
	}
	return out, nil
}

type controllerFlags struct {
	processFlags
	witness              witnessFlags
	webhooks             webhookFlags
	tenancy              tenancyFlags
	options              manager.Options
	claimFiles           []string
	namespaces           []string
	elect                bool
	noPrivate, noRemotes bool
	localSources         bool
	remotes              []string
	pageService          string
	keyService           string
	configs              string
	level, logForm       string
}

func (p *program) controller() *cobra.Command {
	f := &controllerFlags{}
	cmd := &cobra.Command{
		Use: "controller", Short: "Run the controller", Long: longController, Example: exampleController, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.complete(p.env.Err)
			if err != nil {
				return err
			}
			return p.backend.RunController(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.options.Kubeconfig, "kubeconfig", "", "path of a kubeconfig; without it as kubectl, or the pod's service account")
	flags.StringVar(&f.options.Context, "context", "", "context of the kubeconfig")
	flags.StringSliceVar(&f.namespaces, "namespace", nil, "work for the custom resources of these namespaces alone; may be given more than once, or with commas; without it for all")
	flags.StringVar(&f.options.RuntimeNamespace, "runtime-namespace", "", "namespace of the controller's own state: its Lease, its ConfigMaps and its Secrets; without it the first --namespace, else the context's or the pod's")
	f.add(flags)
	flags.StringArrayVar(&f.claimFiles, "claims-file", nil, "a file of entries for the catalogue of claims (truce claims); may be given more than once; the ConfigMap truce-claims goes over it")
	flags.StringVar(&f.options.Listen, "listen", "127.0.0.1:8080", "address of the status page, /healthz, /readyz and /metrics; empty for none. The page needs a login: truce dashboard, or a bearer token whose user may get the URL /truce")
	flags.StringVar(&f.options.MetricsListen, "metrics-listen", "", "address for /healthz, /readyz and /metrics, without the page; without it all are at --listen")
	flags.StringVar(&f.pageService, "page-service", "", "`NAMESPACE/NAME` of a Service without a selector by which others reach the status page at --listen; the leader points it at itself, by the environment's POD_IP")
	flags.StringVar(&f.options.EventsAddress, "events-addr", "", "http(s) URL that receives a copy of every Event, with the evidence: Flux's notification-controller, or anything that takes the form of its generic Provider; truce then leaves Providers and Alerts to it")
	f.webhooks.add(flags)
	flags.StringVar(&f.options.CacheDir, "cache-dir", defaultCache(), "directory for clones and the journal; one controller at a time. Where nothing can be written to it, clones go to a temporary one, and there is no journal")
	flags.BoolVar(&f.localSources, "local-sources", false, "let GitRepositories name repositories on this machine (paths, file://): users who may write one can then read what truce can read")
	flags.StringSliceVar(&f.options.Sources.Allowed, "allow-source-hosts", nil, "servers that sources may be at although their addresses are loopback, link-local or a cloud's metadata service: HOST, HOST:PORT, *.DOMAIN, an IP address, or a network such as 127.0.0.0/8; may be given more than once, or with commas")
	flags.BoolVar(&f.noPrivate, "no-private-sources", false, "refuse sources at private addresses too, for a cluster that tenants share; --allow-source-hosts lists the exceptions")
	flags.BoolVar(&f.noRemotes, "no-remote-bases", false, "fetch nothing that kustomizations name by addresses")
	flags.StringSliceVar(&f.remotes, "remote-hosts", nil, "the only hosts that kustomizations may name: HOST, HOST:PORT or *.DOMAIN, with http:// before one that has no https; may be given more than once, or with commas; without it all, by https and at public addresses")
	flags.StringVar(&f.configs, "watch-configs-label-selector", "reconcile.fluxcd.io/watch=Enabled", "label selector of the ConfigMaps and Secrets that run the apps that take variables or keys from them when they change; empty for all")
	flags.StringVar(&f.keyService, "sops-keyservice", "", "address of a SOPS key service (sops keyservice), unix:///path or tcp://host:port, that decrypts for keys of AWS, GCP, Azure and Huawei Cloud KMS and of Vault; empty for none. Every app with spec.decryption may use it, and what goes over TCP is not encrypted")
	f.tenancy.add(flags)
	flags.BoolVar(&f.elect, "leader-elect", false, "work only while holding a Lease, so that several can stand by")
	flags.StringVar(&f.options.Election.Name, "leader-elect-name", "truce-controller", "name of the Lease")
	flags.StringVar(&f.options.Election.Namespace, "leader-elect-namespace", "", "namespace of the Lease; without it --runtime-namespace, else the first --namespace, else the context's or the pod's")
	flags.DurationVar(&f.options.Election.Duration, "leader-elect-lease-duration", 15*time.Second, "how long the Lease holds after its last renewal, in whole seconds: another controller takes over after that. A write may take as long as three quarters of it, less the age of the renewal, webhooks included")
	f.witness.add(flags)
	f.witness.addService(flags)
	flags.IntVar(&f.options.Workers.Apps, "concurrent-apps", 0, "apps that are run at once; 0 for the default")
	flags.IntVar(&f.options.Workers.Objects, "concurrent-objects", 0, "objects that are judged at once; 0 for the default")
	flags.StringVar(&f.level, "log-level", "info", "debug, info, warn, error")
	flags.StringVar(&f.logForm, "log-format", "text", "text, json")
	return cmd
}

func (f *controllerFlags) complete(log io.Writer) (manager.Options, error) {
	o := f.options
	var err error
	if o.Process, err = f.policy(); err != nil {
		return o, err
	}
	if o.Catalogue, err = catalogue(f.claimFiles); err != nil {
		return o, err
	}
	if o.Namespaces, err = namespaces(f.namespaces); err != nil {
		return o, err
	}
	if err := checkRuntime(o.RuntimeNamespace); err != nil {
		return o, err
	}
	if o.Sources, err = f.sources(); err != nil {
		return o, err
	}
	if o.Remotes, err = f.hosts(); err != nil {
		return o, err
	}
	if o.WatchConfigs, err = labels.Parse(f.configs); err != nil {
		return o, usageError("--watch-configs-label-selector: %v", err)
	}
	if err := f.connectKeyService(&o); err != nil {
		return o, err
	}
	if o.Tenancy, err = f.tenancy.complete(); err != nil {
		return o, err
	}
	if o.Witness, err = f.witness.complete(); err != nil {
		return o, err
	}
	if o.Webhooks, err = f.webhooks.complete(); err != nil {
		return o, err
	}
	if o.Page, err = pageService(f.pageService, o.Listen); err != nil {
		return o, err
	}
	if o.Election, err = f.election(); err != nil {
		return o, err
	}
	if f.localSources {
		o.LocalSources = controller.AllowLocal
	}
	o.Log, err = newLogger(log, f.level, f.logForm)
	return o, err
}

// election says which Lease is held; the zero value is for none.
func (f *controllerFlags) election() (leader.Election, error) {
	e := f.options.Election
	if e.Duration < leastLease || e.Duration%time.Second != 0 {
		return e, usageError("--leader-elect-lease-duration %s: want whole seconds, %s or more", e.Duration, leastLease)
	}
	if !f.elect {
		return leader.Election{}, nil
	}
	return e, nil
}

func (f *controllerFlags) connectKeyService(o *manager.Options) error {
	if f.keyService == "" {
		return nil
	}
	service, err := keyservice.NewClient(f.keyService)
	if err != nil {
		return usageError("--sops-keyservice %q: %v", f.keyService, err)
	}
	o.KeyService = service
	return nil
}

// sources says which servers sources may be at.
func (f *controllerFlags) sources() (egress.Policy, error) {
	p := f.options.Sources
	if f.noPrivate || f.tenancy.shared {
		p.Reach = egress.ReachPublic
	}
	if _, err := egress.ParseAllowed(p.Allowed); err != nil {
		return p, usageError("--allow-source-hosts: %v", err)
	}
	return p, nil
}

// leastLease is the shortest lease duration: a renewal has to have an answer within two thirds of it, on a busy server too.
const leastLease = 5 * time.Second

// hosts are those that kustomizations may name.
func (f *controllerFlags) hosts() (upstream.Hosts, error) {
	switch {
	case f.noRemotes && len(f.remotes) > 0:
		return upstream.Hosts{}, usageError("--no-remote-bases and --remote-hosts exclude each other")
	case f.noRemotes || f.tenancy.shared && len(f.remotes) == 0:
		return upstream.Hosts{Reach: upstream.ReachNone}, nil
	}
	listed, err := upstream.ParseHosts(f.remotes)
	if err != nil {
		return upstream.Hosts{}, usageError("--remote-hosts: %v", err)
	}
	return upstream.Hosts{Listed: listed}, nil
}

// namespaces are the values of --namespace, each once.
func namespaces(given []string) (cluster.Namespaces, error) {
	var out cluster.Namespaces
	for _, name := range given {
		if err := checkNamespace("--namespace", name); err != nil {
			return nil, err
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// checkRuntime refuses a value of --runtime-namespace that is no name of a namespace; an empty one stands for none.
func checkRuntime(name string) error {
	if name == "" {
		return nil
	}
	return checkNamespace("--runtime-namespace", name)
}

func checkNamespace(flag, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return usageError("%s %q: %s", flag, name, problems[0])
	}
	return nil
}

func newLogger(w io.Writer, level, form string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError("--log-level %q: want debug, info, warn, error", level)
	}
	o := manager.LogOptions(l)
	switch form {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, usageError("--log-format %q: want text, json", form)
}

// defaultCache is below the user's cache directory; where there is none, below the one for temporary files.
func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "truce")
}
