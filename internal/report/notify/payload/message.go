package payload

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"strings"
)

// plainText is the content without any markup.
func plainText(c Content, most int) string {
	if c.Form != nil {
		return shorten(c.Text(), most)
	}
	var b strings.Builder
	mark := "ℹ️ "
	if c.IsError() {
		mark = "🚨 "
	}
	b.WriteString(mark + c.Title + "\n" + c.Text())
	for _, f := range c.Facts {
		b.WriteString("\n" + f.Name + ": " + f.Value)
	}
	return shorten(b.String(), most)
}

// telegram sends plain text by the Bot API, whose token is in the address.
type telegram struct{}

func (telegram) build(t Target, c Content) (Request, error) {
	switch {
	case t.Token == "":
		return Request{}, missing("telegram", "the key token in its Secret")
	case t.Channel == "":
		return Request{}, missing("telegram", "spec.channel, the chat")
	}
	text := plainText(c, 4096)
	if c.Form == nil { // Telegram finds names in plain text, too
		text = shorten(withoutMentions(text), 4096)
	}
	address := joinURL(cmp.Or(t.Address, "https://api.telegram.org"), "/bot"+url.PathEscape(t.Token)+"/sendMessage")
	body := map[string]any{"chat_id": t.Channel, "text": text, "link_preview_options": map[string]any{"is_disabled": true}}
	if t.Thread != 0 {
		body["message_thread_id"] = t.Thread
	}
	if !c.IsError() {
		body["disable_notification"] = true
	}
	return postJSON(strings.ReplaceAll(address, "%3A", ":"), body)
}

// matrix sends a notice to a room. The ID of the transaction keeps another try from being a second message.
type matrix struct{}

func (matrix) build(t Target, c Content) (Request, error) {
	switch {
	case t.Token == "":
		return Request{}, missing("matrix", "the key token in its Secret")
	case t.Channel == "":
		return Request{}, missing("matrix", "spec.channel, the ID of the room")
	}
	path := "/_matrix/client/v3/rooms/" + url.PathEscape(t.Channel) + "/send/m.room.message/" + url.PathEscape(c.ID)
	r, err := postJSON(joinURL(t.Address, path), map[string]any{"msgtype": "m.notice", "body": plainText(c, 30000), "m.mentions": map[string]any{}})
	r.Method = "PUT"
	return authorized(r, "Bearer", t.Token), err
}

// webex sends Markdown to a room.
type webex struct{}

func (webex) build(t Target, c Content) (Request, error) {
	switch {
	case t.Token == "":
		return Request{}, missing("webex", "the key token in its Secret")
	case t.Channel == "":
		return Request{}, missing("webex", "spec.channel, the ID of the room")
	}
	text := shorten(plainText(c, 3500), 3500)
	text = strings.ReplaceAll(escapeMarkdown(text), "\n", "  \n")
	to := "roomId"
	if strings.Contains(t.Channel, "@") { // no room's ID does
		to = "toPersonEmail"
	}
	r, err := postJSON(cmp.Or(t.Address, "https://webexapis.com/v1/messages"), map[string]any{to: t.Channel, "markdown": text})
	return authorized(r, "Bearer", t.Token), err
}

// zulip sends to a topic of a stream: spec.channel is STREAM/TOPIC.
type zulip struct{}

func (zulip) build(t Target, c Content) (Request, error) {
	stream, topic, ok := strings.Cut(t.Channel, "/")
	switch {
	case !ok || stream == "" || topic == "":
		return Request{}, missing("zulip", "spec.channel as STREAM/TOPIC")
	case t.Login == "" || t.Password == "":
		return Request{}, missing("zulip", "the keys username and password in its Secret: the bot's address and its API key")
	}
	form := url.Values{"type": {"stream"}, "to": {stream}, "topic": {topic}, "content": {shorten(escapeMarkdown(plainText(c, 8000)), 10000)}}
	r := Request{Method: "POST", URL: joinURL(t.Address, "/api/v1/messages"), Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, Body: []byte(form.Encode())}
	return authorized(r, "Basic", basicText(t.Login, t.Password)), nil
}

func basicText(login, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(login + ":" + password))
}
