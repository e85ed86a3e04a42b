package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// notify are the commands about messages.
func (p *program) notify() *cobra.Command {
	cmd := &cobra.Command{Use: "notify", Short: "Try the messages of Providers and Alerts", Long: "Try the messages that truce sends by Flux's Providers and Alerts.", RunE: groupOnly}
	cmd.AddCommand(p.notifyTest(), p.notifyPreview())
	return cmd
}

// notifies completes a command about one Provider or Alert.
func (f *appFlags) notifies(cmd *cobra.Command, kind string) {
	f.config.AddFlags(cmd.Flags())
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	if k, ok := resource.FindKind(kind); ok {
		cmd.ValidArgsFunction = f.completeNames(k)
	}
}

// routeKey names a Provider or an Alert of the namespace that the flags name.
func (f *appFlags) routeKey(name string) (route.Key, error) {
	ns, err := f.namespace()
	return route.Key{Namespace: ns, Name: name}, err
}

// messageJSON is what one request says.
type messageJSON struct {
	Time     string            `json:"time"`
	Title    string            `json:"title"`
	Severity string            `json:"severity"`
	Reason   string            `json:"reason"`
	Text     string            `json:"text"`
	Facts    map[string]string `json:"facts,omitempty"`
	Joined   int               `json:"joined"` // how many messages it is made of
}

func newMessageJSON(c payload.Content) messageJSON {
	out := messageJSON{
		Time: c.Message.At.UTC().Format("2006-01-02T15:04:05Z"), Title: c.Title, Severity: string(c.Message.Severity), Reason: c.Message.Reason,
		Text: c.Text(), Joined: c.Count,
	}
	for _, f := range c.Facts {
		if out.Facts == nil {
			out.Facts = map[string]string{}
		}
		out.Facts[f.Name] = f.Value
	}
	return out
}

// firstLine is what a row shows of a text.
func firstLine(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		first += " … " + pluralize(strings.Count(rest, "\n")+1, "line more", "lines more")
	}
	return first
}
