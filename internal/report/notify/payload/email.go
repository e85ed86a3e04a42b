package payload

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// email sends a mail with a text and the same in HTML. spec.channel has the recipients, spec.username the sender.
type email struct{}

// Envelope says who sends a mail, and who gets it.
type Envelope struct {
	From string
	To   []string
}

const (
	mostRecipients = 50
	longestSubject = 200
	longestMail    = 60000 // characters of each of the two texts
)

func (email) build(t Target, c Content) (Request, error) {
	if len(t.Headers) > 0 {
		return Request{}, errors.New("a Provider of type email takes no key headers in its Secret")
	}
	address, err := mailServer(t.Address)
	if err != nil {
		return Request{}, err
	}
	from, err := parseMailbox(cmp.Or(t.Username, t.Login))
	if err != nil {
		return Request{}, missing("email", "spec.username, the sender, such as truce <truce@example.com>")
	}
	to, err := parseMailboxes(t.Channel)
	if err != nil {
		return Request{}, missing("email", fmt.Sprintf("spec.channel with the addresses of 1 to %d recipients, and commas between them", mostRecipients))
	}
	m := mailMessage{from: from, to: to, content: c}
	body, err := m.body()
	if err != nil {
		return Request{}, err
	}
	r := Request{Method: "MAIL", URL: address, Headers: map[string]string{}, Body: body, Mail: &Envelope{From: from.Address}}
	for _, a := range to {
		r.Mail.To = append(r.Mail.To, a.Address)
	}
	return r, nil
}

// mailServer returns the address of a mail server with its port.
func mailServer(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || strings.Trim(u.Path, "/") != "" {
		return "", errors.New("the address is no URL of a mail server: set spec.address, or the key address of the Secret, to smtp://HOST:587 (STARTTLS) or smtps://HOST:465")
	}
	if u.User != nil {
		return "", errors.New("the address holds a login: put it into the keys username and password of the Secret")
	}
	if q := u.RawQuery; q != "" && (q != PlainMail || u.Scheme != "smtp") {
		return "", errors.New("the address has a query: only smtp://HOST:PORT?" + PlainMail + " is known")
	}
	port := map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	u.Host = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	u.Path = ""
	return u.String(), nil
}

// PlainMail is the query of the address of a mail server to which mail goes without TLS.
const PlainMail = "starttls=off"

func parseMailboxes(text string) ([]*mail.Address, error) {
	list, err := mail.ParseAddressList(text)
	if err != nil || len(list) > mostRecipients {
		return nil, errors.New("no list of addresses")
	}
	for _, a := range list {
		if err := checkMailbox(a); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func parseMailbox(text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return nil, err
	}
	return a, checkMailbox(a)
}

// checkMailbox refuses addresses of quoted text: between the angle brackets of a command they could end it.
func checkMailbox(a *mail.Address) error {
	if len(a.Address) > 254 || strings.ContainsFunc(a.Address, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"\,;:()[]`, r) }) {
		return errors.New("no address of a person")
	}
	return nil
}

// mailMessage is a mail in the form of RFC 5322.
type mailMessage struct {
	from    *mail.Address
	to      []*mail.Address
	content Content
}

func (m mailMessage) body() ([]byte, error) {
	var b strings.Builder
	boundary := "=_truce_" + hashText(m.content.ID) // "=_" is in no quoted-printable text
	for _, h := range m.headers(boundary) {
		b.WriteString(h.Name + ": " + h.Value + "\r\n")
	}
	b.WriteString("\r\n")
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	page := htmlText(m.content)
	if f := m.content.Form; f != nil && f.Body != "" {
		page = f.Body // values of others in it are escaped
	}
	for _, part := range []Fact{{"text/plain", plainText(m.content, longestMail)}, {"text/html", page}} {
		if err := writePart(w, part.Name, part.Value); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return []byte(b.String()), err
}

// headers are those of the mail. Mails about one matter refer to the same ID, so that mailers show them as one conversation.
func (m mailMessage) headers(boundary string) []Fact {
	_, domain, _ := strings.Cut(m.from.Address, "@")
	var to []string
	for _, a := range m.to {
		to = append(to, a.String())
	}
	thread := "<" + hashText(m.content.Key) + "@" + domain + ">"
	return []Fact{
		{"From", m.from.String()},
		{"To", strings.Join(to, ",\r\n ")},
		{"Subject", subjectOf(m.content)},
		{"Date", m.content.Message.At.UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + hashText(m.content.ID) + "@" + domain + ">"},
		{"In-Reply-To", thread},
		{"References", thread},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", `multipart/alternative; boundary="` + boundary + `"`},
	}
}

// subjectOf returns the subject, encoded: without line breaks, whatever the content holds.
func subjectOf(c Content) string {
	text := string(c.Message.Severity) + ": " + c.Title + ": " + c.Message.Reason
	if c.Form != nil && c.Form.Subject != "" {
		text = c.Form.Subject
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return r < ' ' || r == ' ' || r == 0x7f }), " ")
	return mime.QEncoding.Encode("utf-8", shorten(text, longestSubject))
}

func writePart(w *multipart.Writer, kind, text string) error {
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"}})
	if err != nil {
		return err
	}
	q := quotedprintable.NewWriter(part)
	if _, err := q.Write([]byte(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\r", ""))); err != nil {
		return err
	}
	return q.Close()
}

// htmlText is the content as a page without links, pictures and scripts.
func htmlText(c Content) string {
	color := "#2eb886"
	if c.IsError() {
		color = "#a30200"
	}
	var b strings.Builder
	b.WriteString(`<html><body style="font-family:sans-serif"><div style="border-left:4px solid ` + color + `;padding-left:12px"><b>` + html.EscapeString(c.Title) + "</b>\n")
	for line := range strings.Lines(shorten(c.Text(), longestMail/2)) {
		b.WriteString("<p>" + html.EscapeString(strings.TrimSuffix(line, "\n")) + "</p>\n")
	}
	b.WriteString("<table>\n")
	for _, f := range c.Facts {
		b.WriteString("<tr><td>" + html.EscapeString(f.Name) + "</td><td>" + html.EscapeString(shorten(f.Value, longestMail/10)) + "</td></tr>\n")
	}
	b.WriteString("</table></div></body></html>\n")
	return b.String()
}
