package matter

import (
	"strings"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// FailureForm returns the form of a failure: its reason, and its text without what may be another text at each try though the cause is the same.
func FailureForm(reason, text string) string {
	return reason + " " + withoutVarying(text)
}

func withoutVarying(text string) string { return varying().ReplaceAllString(text, "$1$2$3$4") }

// varying finds what varies in the text of an error. What is in a group stays: it says what stood there.
var varying = pattern.OnDemand(strings.Join([]string{
	`( says )"(?:[^"\\]|\\.)*"`,                    // the words of a server, which may name the request
	`(\b(?:dial|read|write) (?:tcp|udp)[46]? )\S+`, // the ports of a connection, and one of the addresses of a name
	`(\blookup \S+ on )\S+`,                        // one of the name servers
	`((?i:\b(?:request|trace|correlation|host)[ _-]?id)["':= ]+)[\w+/=:-]+`,
	`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`,
	`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z\b| ?[+-]\d\d:?\d\d(?: [A-Z]{3,4}\b)?)?`, // RFC 3339, and as Go prints a time
	`\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\b`,                               // as HTTP does
	`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:n|µ|u|m)?s\b`,                                         // a duration, as Go prints it
	`\b\d+ (?:ms|milliseconds|seconds)\b`,
	`\b\d+(?: out of \d+)? bytes\b`,
	`\b0x[0-9a-f]{6,}\b`,
}, "|"))
