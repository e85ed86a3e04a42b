package payload

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// ArgoService begins the types of those services of Argo CD's that are no Provider's: the name of the service follows.
const ArgoService = "argocd-"

// slackForm is a message of Slack's chat.postMessage in the words of a template.
type slackForm struct {
	Channel     string          `json:"channel,omitempty"`
	Username    string          `json:"username,omitempty"`
	Text        string          `json:"text"`
	Attachments json.RawMessage `json:"attachments,omitempty"`
	Blocks      json.RawMessage `json:"blocks,omitempty"`
}

// formContents returns one content for each note, in the words of its template.
func formContents(all []route.Note) []Content {
	var out []Content
	for i, n := range all {
		c := contentOf([]route.Note{n})
		c.From, c.Form = []int{i}, n.Form
		if f := n.Form; f != nil {
			c.ID = hashText(c.ID + f.Text + f.Subject + f.Body)
			c.Title, c.Lines, c.Facts = cmp.Or(f.Title, c.Title), []string{f.Text}, nil
			for _, fact := range f.Facts {
				c.Facts = append(c.Facts, Fact{fact.Name, fact.Value})
			}
		}
		out = append(out, c)
	}
	return out
}

// argoWebhook sends what the template says, to the service's address and a path below it.
type argoWebhook struct{}

func (argoWebhook) build(t Target, c Content) (Request, error) {
	f := c.Form
	if f == nil {
		f = &route.Form{Text: c.Text()}
	}
	method := cmp.Or(strings.ToUpper(strings.TrimSpace(f.Method)), http.MethodGet)
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, method) {
		return Request{}, unfit("its method is none of GET, POST, PUT, PATCH and DELETE")
	}
	path, err := route.FillMarks(f.Path, t.Secrets)
	if err != nil {
		return Request{}, err
	}
	body, err := route.FillMarks(f.Body, t.Secrets)
	if err != nil {
		return Request{}, err
	}
	address := strings.TrimSuffix(t.Address, "/")
	if path = strings.TrimSpace(path); path != "" {
		address += "/" + strings.TrimPrefix(path, "/")
	}
	own, err := url.Parse(t.Address)
	next, err2 := url.Parse(address)
	if err != nil || err2 != nil || own.Host != next.Host || own.Scheme != next.Scheme {
		return Request{}, unfit("its path is none below the address of the service")
	}
	r := Request{Method: method, URL: address, Headers: map[string]string{}, Body: []byte(body)}
	if t.Login != "" || t.Password != "" {
		r = authorized(r, "Basic", basicText(t.Login, t.Password))
	}
	return r, nil
}
