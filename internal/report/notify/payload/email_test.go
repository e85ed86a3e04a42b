package payload_test

import (
	"bytes"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// checkMail checks that a mail has its own headers and two parts, whatever it says.
func checkMail(t *testing.T, r payload.Request, text string) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(r.Body))
	if err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	want := []string{"Auto-Submitted", "Content-Type", "Date", "From", "In-Reply-To", "Message-Id", "Mime-Version", "References", "Subject", "To"}
	if got := slices.Sorted(maps.Keys(m.Header)); !slices.Equal(got, want) {
		t.Fatalf("headers %q of %q", got, text)
	}
	subject, err := (&mime.WordDecoder{}).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || strings.ContainsAny(subject, "\r\n") {
		t.Fatalf("subject %q: %v", subject, err)
	}
	for line := range bytes.Lines(r.Body) {
		if len(line) > 998 || !bytes.HasSuffix(line, []byte("\r\n")) || bytes.Contains(bytes.TrimSuffix(line, []byte("\r\n")), []byte("\r")) {
			t.Fatalf("a line of %d bytes: %q", len(line), line)
		}
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for range 2 {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") && bytes.Contains(body, []byte("<script")) {
			t.Fatalf("markup of others: %s", body)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Fatalf("more than two parts: %v", err)
	}
}

// TestWhatIsNoMailbox: neither a header nor a command can be in an address.
func TestWhatIsNoMailbox(t *testing.T) {
	c := payload.JoinMessages("email", []route.Note{contested("web")})[0]
	for _, text := range []string{
		"", "ops", "ops@example.com\r\nBcc: x@evil.example", `"a> NOTIFY=SUCCESS"@example.com`, "ops@example.com\nDATA", "ops@exämple.com",
		strings.Repeat("a@example.com,", 51) + "a@example.com", "\"a\r\nb\"@example.com", "=?utf-8?q?a=0D=0ABcc:_x?= <a\x00@example.com>", "a@[127.0.0.1]",
	} {
		for _, target := range []payload.Target{
			{Type: "email", Address: "smtp://mail.example.com", Channel: text, Username: "truce@example.com"},
			{Type: "email", Address: "smtp://mail.example.com", Channel: "ops@example.com", Username: text},
		} {
			if r, err := payload.BuildRequest(target, c); err == nil {
				t.Errorf("%q is taken: %q", text, r.Mail)
			}
		}
	}
	target := payload.Target{Type: "email", Channel: "ops@example.com", Username: "=?utf-8?q?a=0D=0ABcc?= <truce@example.com>"}
	for _, address := range []string{"", "https://mail.example.com", "smtp://", "smtp://user:CANARY@mail.example.com", "smtp://mail.example.com/x", "smtps://mail.example.com?starttls=off", "smtp://h?x=1", "smtp://h:x"} {
		target.Address = address
		if _, err := payload.BuildRequest(target, c); err == nil || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%q: %v", address, err)
		}
	}
	target.Address = "smtp://mail.example.com"
	r, err := payload.BuildRequest(target, c)
	if err != nil {
		t.Fatal(err)
	}
	checkMail(t, r, target.Username)
}
