package payload

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// answer is what a receiver says of a message.
type answer struct {
	taken bool
	final bool   // the message itself is refused, although the status does not say so
	says  string // what is refused, where the body is not fit to be shown
}

// larkFinal are Lark's codes of what another try does not change: a malformed message, and one that lacks the words which the bot asks for.
var larkFinal = []int64{9499, 19024}

// slackFinal are Slack's errors (https://docs.slack.dev/reference/methods/chat.postMessage) of what another try does not change: a malformed message.
var slackFinal = []string{
	"invalid_arguments", "invalid_attachments", "invalid_blocks", "invalid_blocks_format", "invalid_form_data", "invalid_json", "markdown_text_conflict",
	"msg_blocks_too_long", "msg_too_long", "no_text", "too_many_attachments",
}

// ReadAnswer reports whether an answer is a success; else whether the message itself is refused, although the status does not say so, and what is refused, where the body does not say
// it. There are answers that look like the opposite.
func ReadAnswer(kind string, status int, body string) (taken, final bool, says string) {
	a := answerOf(kind, status, body)
	return a.taken, a.final, a.says
}

func answerOf(kind string, status int, body string) answer {
	taken := status < http.StatusMultipleChoices
	switch {
	case kind == "slack" && strings.Contains(body, `"ok":false`):
		return slackAnswer(body)
	case kind == "azuredevops" && status == http.StatusNonAuthoritativeInfo: // its page to log in
		return answer{says: "the token is refused"}
	case kind == "gitlab" && status == http.StatusBadRequest && strings.Contains(body, "Cannot transition status"): // it is there already
		return answer{taken: true}
	case taken && kind == "lark":
		return larkAnswer(body)
	case taken && kind == "otel":
		return collectorAnswer(body)
	}
	return answer{taken: taken}
}

// slackAnswer reads the error in an answer of Slack's Web API, whose status is 200 for a refusal too.
func slackAnswer(body string) answer {
	var got struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal([]byte(body), &got) // then nothing is known but that it is refused
	return answer{final: slices.Contains(slackFinal, got.Error), says: body}
}

// larkAnswer reads the code in an answer of Lark, whose status is 200 for a refusal too.
func larkAnswer(body string) answer {
	var got struct {
		Code int64  `json:"code"`
		Text string `json:"msg"`
	}
	if json.Unmarshal([]byte(body), &got) != nil || got.Code == 0 {
		return answer{taken: true}
	}
	return answer{final: slices.Contains(larkFinal, got.Code), says: got.Text}
}

// collectorAnswer reads the partial success of OTLP: a message is one span, and one that is rejected is not to be sent again.
func collectorAnswer(body string) answer {
	var got struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a number, or a text of one
			Text     string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal([]byte(body), &got) != nil || slices.Contains([]string{"", "0", "null"}, strings.Trim(string(got.Partial.Rejected), `"`)) {
		return answer{taken: true}
	}
	return answer{final: true, says: "the span is rejected: " + got.Partial.Text}
}
