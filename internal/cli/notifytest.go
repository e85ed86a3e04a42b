package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/view/notification"
)

const longNotifyTest = `Send a sample of each message of truce to a Provider, from this machine, with the spec and the Secrets that the
Provider has in the cluster: what a controller would send, in the same form. Each sample says that nothing has
happened. Secrets are read with your rights, and with them the token of the Provider's serviceAccountName is
requested; the identity of the controller itself is not on this machine. A suspended Provider gets them, too.

--dry-run prints the requests and sends nothing; credentials, and addresses but for the server, are shown as ***.
A Provider that writes the status of commits gets the results of a run, for the commit that --commit names: a
success in the end. A Provider that comments on pull requests changes one comment of the one that --change-request
names. A sample that opens an alert at an on-call tool is followed by the one that closes it.

-o json and yaml print: provider, type, dryRun, and of each sample reason, sent, error, message, request.

Exit codes: 0 all were taken, 1 one was not, 2 usage, 3 the Provider is not there, is refused, or cannot be read.`

const exampleNotifyTest = `  truce notify test slack -n flux-system
  truce notify test slack -n flux-system --event FieldContested --dry-run
  truce notify test github -n flux-system --commit $(git rev-parse HEAD)`

type notifyTestFlags struct {
	*appFlags
	dryRun  bool
	choice  notification.Choice
	servers egress.Policy
}

func (p *program) notifyTest() *cobra.Command {
	f := &notifyTestFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "test PROVIDER", Short: "Send samples to a Provider", Long: longNotifyTest, Example: exampleNotifyTest, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.connected(cmd.Context(), func(c *Cluster) error { return f.run(cmd.Context(), c, args[0]) })
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the requests, and send nothing")
	flags.StringSliceVar(&f.choice.Reasons, "event", nil, "only the samples with this `REASON`, such as DriftCorrected; may be given more than once")
	flags.StringVar(&f.choice.Commit, "commit", "", "`SHA` of the commit whose status is written")
	flags.StringVar(&f.choice.Pull, "change-request", "", "`NUMBER` of the pull request that has the comment")
	flags.StringSliceVar(&f.servers.Allowed, "allow-source-hosts", nil, "servers that the Provider may be at although their addresses are loopback, link-local or a cloud's metadata service, as the controller's flag")
	f.notifies(cmd, "provider")
	f.complete(cmd, "event", completeFrom(notification.Reasons()...))
	f.outputs(cmd, "json", "yaml")
	return cmd
}

// commitSHA is a whole one: servers take no other.
var commitSHA = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (f *notifyTestFlags) check() error {
	for _, reason := range f.choice.Reasons {
		if err := checkOneOf("--event", reason, notification.Reasons()); err != nil {
			return err
		}
	}
	if f.choice.Commit != "" && !commitSHA.MatchString(f.choice.Commit) {
		return usageError("--commit %q: want the 40 digits of a SHA", f.choice.Commit)
	}
	if _, err := egress.ParseAllowed(f.servers.Allowed); err != nil {
		return usageError("--allow-source-hosts: %v", err)
	}
	return nil
}

func (f *notifyTestFlags) run(ctx context.Context, c *Cluster, name string) error {
	key, err := f.routeKey(name)
	if err != nil {
		return err
	}
	p, err := notification.ReadProvider(ctx, c.Live(), key)
	if err != nil {
		return err
	}
	samples, err := notification.Samples(p, f.choice, time.Now())
	if err != nil {
		return exit.WithCode(exit.Usage, err)
	}
	if len(samples) == 0 {
		return usageError("a Provider of type %s gets none of these samples", p.Type)
	}
	if !f.dryRun {
		d := &deliver.Deliverer{Servers: f.servers, Clouds: &cloud.Exchange{Servers: f.servers, Environment: cloud.EnvironmentOf(os.Environ()), Accounts: c.Accounts(), Foreign: true}}
		for i, s := range samples {
			samples[i] = notification.Send(ctx, d, p, s)
		}
	}
	if err := f.printSamples(p, samples); err != nil {
		return err
	}
	if slices.ContainsFunc(samples, func(s notification.Sample) bool { return s.Err != nil }) {
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}

// sampleJSON is one sample that was, or would be, sent.
type sampleJSON struct {
	Reason  string       `json:"reason"`
	Sent    bool         `json:"sent"`
	Error   string       `json:"error,omitempty"`
	Message messageJSON  `json:"message"`
	Request *requestJSON `json:"request,omitempty"`
}

// requestJSON is an HTTP request without credentials; of another transport the body alone.
type requestJSON struct {
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body"` // JSON as such, all else as text
}

type notifyTestJSON struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Provider   string       `json:"provider"`
	Type       string       `json:"type"`
	DryRun     bool         `json:"dryRun"`
	Items      []sampleJSON `json:"items"`
}

func (f *notifyTestFlags) printSamples(p deliver.Loaded, samples []notification.Sample) error {
	switch {
	case f.output != "":
		out := notifyTestJSON{APIVersion: schemaVersion, Kind: "NotificationTest", Provider: p.Key.String(), Type: p.Type, DryRun: f.dryRun, Items: []sampleJSON{}}
		for _, s := range samples {
			out.Items = append(out.Items, f.newSampleJSON(s))
		}
		return f.structured(out)
	case f.dryRun:
		for _, s := range samples {
			if _, err := fmt.Fprintf(f.program.env.Out, "# %s\n%s\n", s.Reason, requestText(s)); err != nil {
				return err
			}
		}
		return nil
	}
	t := &table{}
	t.columns(plainCells("EVENT", "SENT", "MESSAGE")...)
	for _, s := range samples {
		sent, text := cell{"yes", green}, firstLine(s.Content.Text())
		if s.Err != nil {
			sent, text = cell{"no", red}, s.Err.Error()
		}
		t.add(cell{text: s.Reason}, sent, cell{text: text})
	}
	return f.printTable(t)
}

func (f *notifyTestFlags) newSampleJSON(s notification.Sample) sampleJSON {
	out := sampleJSON{Reason: s.Reason, Sent: !f.dryRun && s.Err == nil, Message: newMessageJSON(s.Content)}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	if r := s.Request; r.Body != nil {
		out.Request = &requestJSON{r.Method, r.URL, r.Headers, string(r.Body)}
		var body any
		if json.Unmarshal(r.Body, &body) == nil {
			out.Request.Body = body
		}
	}
	return out
}

// requestText prints a request, with its JSON in lines.
func requestText(s notification.Sample) string {
	if s.Err != nil {
		return "error: " + s.Err.Error() + "\n"
	}
	r := s.Request
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Headers[name])
	}
	return b.String() + "\n" + bodyText(r) + "\n"
}

// bodyText prints the body of a request, JSON in lines.
func bodyText(r payload.Request) string {
	var lines strings.Builder
	var body any
	e := json.NewEncoder(&lines)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if json.Unmarshal(r.Body, &body) != nil || e.Encode(body) != nil {
		return string(r.Body)
	}
	return strings.TrimSuffix(lines.String(), "\n")
}
