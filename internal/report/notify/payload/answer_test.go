package payload_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify/payload"
)

// TestWhatSlackSaysOfAMessage: its Web API answers a refusal with the status 200. A malformed message is final, and what people at Slack can set right is not.
func TestWhatSlackSaysOfAMessage(t *testing.T) {
	for body, want := range map[string]struct{ taken, final bool }{
		`{"ok":true,"channel":"C1","ts":"1"}`:              {taken: true},
		`ok`:                                               {taken: true}, // of a webhook
		`{"ok":false,"error":"invalid_blocks"}`:            {final: true},
		`{"ok":false,"error":"invalid_attachments"}`:       {final: true},
		`{"ok":false,"error":"msg_too_long","warning":""}`: {final: true},
		`{"ok":false,"error":"no_text"}`:                   {final: true},
		`{"ok":false,"error":"channel_not_found"}`:         {},
		`{"ok":false,"error":"not_in_channel"}`:            {},
		`{"ok":false,"error":"token_revoked"}`:             {},
		`{"ok":false,"error":"ratelimited"}`:               {},
		`{"ok":false,"error":"message_limit_exceeded"}`:    {}, // of the workspace, in a time
		`{"ok":false,"error":"fatal_error"}`:               {},
		`{"ok":false,"error":{"code":"no_text"}}`:          {},
		`{"ok":false,`:                                     {},
	} {
		taken, final, says := payload.ReadAnswer("slack", 200, body)
		if taken != want.taken || final != want.final || !taken && says != body {
			t.Errorf("%s: taken %t, final %t, says %q; want %+v", body, taken, final, says, want)
		}
	}
	if taken, final, _ := payload.ReadAnswer("rocket", 200, `{"ok":false,"error":"no_text"}`); !taken || final {
		t.Errorf("another receiver: taken %t, final %t", taken, final)
	}
}
