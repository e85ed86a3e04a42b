package payload

import (
	"cmp"
	"errors"
	"html"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// mention is an @ that begins a word: of a revision, such as main@sha1:…, it does not.
var mention = pattern.OnDemand(`(^|[^\p{L}\p{N}])@`)

// withoutMentions puts a character without width behind each @ that would mention someone.
func withoutMentions(s string) string { return mention().ReplaceAllString(s, "${1}@\u200b") }

var (
	// slackMarks are what Slack's mrkdwn makes links and mentions of: <!channel> is none without its brackets.
	slackMarks    = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	linkMarks     = strings.NewReplacer("](", "]\u200b(", "]:", "]\u200b:", "][", "]\u200b[")
	markdownMarks = strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "<", "\\<", ">", "\\>", "~", "\\~", "|", "\\|", "#", "\\#")
)

// escapeSlack escapes a text in Slack's mrkdwn. Mattermost and Rocket.Chat read Markdown there, too: a character without width ends what would be a link or a picture.
func escapeSlack(s string) string { return slackMarks.Replace(linkMarks.Replace(withoutMentions(s))) }

// escapeMarkdown escapes a text in Markdown.
func escapeMarkdown(s string) string { return markdownMarks.Replace(withoutMentions(s)) }

// slack sends to an incoming webhook of Slack or Mattermost, or, with a token, to Slack's chat.postMessage.
type slack struct{}

type slackMessage struct {
	Channel     string            `json:"channel,omitempty"`
	Username    string            `json:"username,omitempty"`
	Attachments []slackAttachment `json:"attachments"`
}

type slackAttachment struct {
	Fallback   string       `json:"fallback"`
	Color      string       `json:"color"`
	AuthorName string       `json:"author_name"`
	Text       string       `json:"text"`
	MrkdwnIn   []string     `json:"mrkdwn_in,omitempty"`
	Fields     []slackField `json:"fields,omitempty"`
}

type slackField struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Short bool   `json:"short"`
}

func newSlackMessage(t Target, c Content) slackMessage {
	a := slackAttachment{Color: "good", AuthorName: escapeSlack(c.Title), Text: escapeSlack(shorten(c.Text(), 7500)), MrkdwnIn: []string{"text"}}
	if c.IsError() {
		a.Color = "danger"
	}
	a.Fallback = a.AuthorName + ": " + escapeSlack(shorten(c.Text(), 500))
	for _, f := range c.Facts {
		a.Fields = append(a.Fields, slackField{f.Name, escapeSlack(shorten(f.Value, 1000)), len(f.Value) <= 40})
	}
	return slackMessage{Channel: t.Channel, Username: cmp.Or(t.Username, reporter), Attachments: []slackAttachment{a}}
}

func (slack) build(t Target, c Content) (Request, error) {
	var body any = newSlackMessage(t, c)
	if c.Form != nil {
		body = slackForm{t.Channel, cmp.Or(t.Username, reporter), shorten(c.Form.Text, 7500), c.Form.Attachments, c.Form.Blocks}
	}
	r, err := postJSON(t.Address, body)
	if t.Token == "" || err != nil {
		return r, err
	}
	if t.Channel == "" {
		return r, missing(t.Type, "spec.channel beside a token")
	}
	if t.Type == "slack" && t.Address == "" {
		r.URL = "https://slack.com/api/chat.postMessage"
	}
	r.Headers["Content-Type"] = "application/json; charset=utf-8"
	return authorized(r, "Bearer", t.Token), nil
}

// rocket sends to an incoming webhook of Rocket.Chat, whose attachments are Slack's.
type rocket struct{}

func (rocket) build(t Target, c Content) (Request, error) {
	m := newSlackMessage(t, c)
	if m.Attachments[0].Color = "#0076D7"; c.IsError() {
		m.Attachments[0].Color = "#FF0000"
	}
	return postJSON(t.Address, m)
}

// discord sends an embed to a webhook.
type discord struct{}

func (discord) build(t Target, c Content) (Request, error) {
	colour := 0x2eb67d
	if c.IsError() {
		colour = 0xe01e5a
	}
	fields, room := []map[string]any{}, 6000-256-3000 // all texts of an embed have 6,000 characters at most
	for _, f := range c.Facts {
		value := shorten(escapeMarkdown(f.Value), 300)
		if room -= len([]rune(value)) + len(f.Name); room < 0 || len(fields) == 25 {
			break
		}
		fields = append(fields, map[string]any{"name": f.Name, "value": value, "inline": len(f.Value) <= 40})
	}
	embed := map[string]any{"title": shorten(escapeMarkdown(c.Title), 256), "description": shorten(escapeMarkdown(c.Text()), 3000), "color": colour, "timestamp": timestampOf(c.Message.At)}
	if len(fields) > 0 {
		embed["fields"] = fields
	}
	body := map[string]any{"username": cmp.Or(t.Username, reporter), "allowed_mentions": map[string]any{"parse": []string{}}, "embeds": []any{embed}}
	return postJSON(strings.TrimSuffix(t.Address, "/slack"), body) // the address of Discord's form for Slack is taken, too
}

// teams sends an Adaptive Card to a workflow of Microsoft Teams.
type teams struct{}

func (teams) build(t Target, c Content) (Request, error) {
	if u, err := url.Parse(t.Address); err == nil && strings.HasSuffix(u.Hostname(), ".webhook.office.com") {
		return Request{}, errors.New("the address is an Office 365 connector, which Microsoft has ended: create a workflow \"Post to a channel when a webhook request is received\" in Teams, and use its address")
	}
	colour := "good"
	if c.IsError() {
		colour = "attention"
	}
	block := func(text string) map[string]any {
		return map[string]any{"type": "TextBlock", "text": escapeMarkdown(text), "wrap": true}
	}
	title := block(shorten(c.Title, 256))
	title["weight"], title["size"], title["color"] = "bolder", "large", colour
	content := []any{title}
	for _, line := range strings.Split(shorten(c.Text(), 10000), "\n") {
		content = append(content, block(line))
	}
	if len(c.Facts) > 0 {
		facts := []any{}
		for _, f := range c.Facts {
			facts = append(facts, map[string]any{"title": f.Name, "value": escapeMarkdown(shorten(f.Value, 1000))})
		}
		content = append(content, map[string]any{"type": "FactSet", "facts": facts})
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"msteams": map[string]any{"width": "Full"}, "body": content,
	}
	return postJSON(t.Address, map[string]any{
		"type": "message", "attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}},
	})
}

// googleChat sends a card to a webhook of a space.
type googleChat struct{}

func (googleChat) build(t Target, c Content) (Request, error) {
	subtitle := "info"
	if c.IsError() {
		subtitle = "error"
	}
	widgets := []any{map[string]any{"textParagraph": map[string]any{"text": strings.ReplaceAll(html.EscapeString(shorten(c.Text(), 8000)), "\n", "<br>")}}}
	for _, f := range c.Facts {
		widgets = append(widgets, map[string]any{"decoratedText": map[string]any{"topLabel": f.Name, "text": html.EscapeString(shorten(f.Value, 1000)), "wrapText": true}})
	}
	card := map[string]any{"header": map[string]any{"title": c.Title, "subtitle": subtitle}, "sections": []any{map[string]any{"widgets": widgets}}}
	return postJSON(t.Address, map[string]any{"cardsV2": []any{map[string]any{"cardId": reporter, "card": card}}})
}

// lark sends a card to a custom bot.
type lark struct{}

func (lark) build(t Target, c Content) (Request, error) {
	colour := "turquoise"
	if c.IsError() {
		colour = "red"
	}
	plain := func(text string) map[string]any { return map[string]any{"tag": "plain_text", "content": text} }
	elements := []any{map[string]any{"tag": "div", "text": plain(shorten(c.Text(), 8000))}}
	for _, f := range c.Facts {
		elements = append(elements, map[string]any{"tag": "div", "text": plain(f.Name + ": " + shorten(f.Value, 1000))})
	}
	return postJSON(t.Address, map[string]any{"msg_type": "interactive", "card": map[string]any{
		"config": map[string]any{"wide_screen_mode": true}, "header": map[string]any{"title": plain(c.Title), "template": colour}, "elements": elements,
	}})
}
