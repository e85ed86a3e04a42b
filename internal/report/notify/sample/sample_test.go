package sample_test

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/sample"
	_ "github.com/truce-gitops/truce/internal/testing/golden" // the flag -update
)

const page, picture = "../../../../docs/notifications.md", "../../../../docs/img/messages.svg"

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// slack is the part of the body that people see.
type slack struct {
	Attachments []struct {
		Color  string `json:"color"`
		Author string `json:"author_name"`
		Text   string `json:"text"`
		Fields []struct{ Title, Value string }
	}
}

// TestThePageShowsEachMessage keeps the picture of docs/notifications.md equal to the requests that Slack gets, and its table of reasons whole.
func TestThePageShowsEachMessage(t *testing.T) {
	var cards []string
	y := 8
	for _, m := range sample.Messages(noon, "flux-system") {
		card, height := cardOf(t, m, y)
		cards = append(cards, card)
		y += height + 10
	}
	got := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13"><rect width="100%%" height="100%%" fill="#fff"/>`+"\n%s</svg>\n", width+16, y, strings.Join(cards, ""))
	want, err := os.ReadFile(picture)
	if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
		if flag.Lookup("update").Value.String() != "true" {
			t.Fatalf("%s is not what is sent; if the messages are right, run `make golden` (-picture +messages): %v\n%s", picture, err, diff)
		}
		if err := os.WriteFile(picture, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range sample.Reasons() {
		if !strings.Contains(string(text), "`"+reason+"`") {
			t.Errorf("%s does not name %s", page, reason)
		}
	}
	if !strings.Contains(string(text), "img/messages.svg") {
		t.Errorf("%s does not show the picture", page)
	}
}

// The size of a card, in pixels and characters.
const (
	width, lineHeight = 760, 18
	mostColumns       = 104
)

// cardOf draws one message as Slack shows an attachment.
func cardOf(t *testing.T, m notify.Message, y int) (svg string, height int) {
	t.Helper()
	contents := payload.JoinMessages("slack", []route.Note{route.Alert{}.Address(m)})
	r, err := payload.BuildRequest(payload.Target{Type: "slack", Address: "https://hooks.slack.com/services/x"}, contents[0])
	var body slack
	if err == nil {
		err = json.Unmarshal(r.Body, &body)
	}
	if err != nil || len(body.Attachments) != 1 {
		t.Fatalf("%s: %v: %s", m.Reason, err, r.Body)
	}
	a := body.Attachments[0]
	colour := map[string]string{"good": "#2eb67d", "danger": "#e01e5a"}[a.Color]
	var b strings.Builder
	line := func(weight, text string) {
		height += lineHeight
		fmt.Fprintf(&b, `<text x="22" y="%d"%s>%s</text>`+"\n", y+height, weight, text)
	}
	line(` font-weight="bold"`, escaped(a.Author))
	for _, text := range wrapped(a.Text) {
		line("", escaped(text))
	}
	for _, f := range a.Fields {
		for i, text := range wrapped(f.Title + ": " + f.Value) {
			if i == 0 {
				_, rest, _ := strings.Cut(text, ": ")
				text = `<tspan font-weight="bold">` + escaped(f.Title) + `</tspan> ` + escaped(rest)
			} else {
				text = escaped(text)
			}
			line(` fill="#555"`, text)
		}
	}
	height += 8
	return fmt.Sprintf(`<rect x="8" y="%d" width="4" height="%d" fill="%s"/>`+"\n", y, height, colour) + b.String(), height
}

// wrapped breaks a text into lines. Slack's three escapes are shown as what they stand for.
func wrapped(text string) []string {
	text = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > mostColumns {
			out, line = append(out, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(out, line)
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}

// TestWhatOpensEnds: a sample leaves no alert open at an on-call tool, and Alerts are joined by their matters.
func TestWhatOpensEnds(t *testing.T) {
	states := map[string]matter.State{}
	for _, m := range sample.Messages(noon, "flux-system") {
		next, said := matter.Advance(states[matter.KeyOf(m)], m)
		if !said {
			t.Errorf("%s: %s would not be sent", m.Reason, m.Text)
		}
		states[matter.KeyOf(m)] = next
	}
	for _, s := range states {
		if s.Open && s.Opened.Severity == notify.Error {
			t.Errorf("%s stays open", s.Opened.Reason)
		}
	}
	for _, kind := range payload.TypeNames() {
		for _, m := range sample.Messages(noon, "flux-system") {
			if c := payload.JoinMessages(kind, []route.Note{route.Alert{}.Address(m)}); len(c) != 1 {
				t.Errorf("%s of %s: %d requests", m.Reason, kind, len(c))
			}
		}
	}
}
