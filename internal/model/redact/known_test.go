package redact_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/redact"
)

// TestAKnownCredentialIsHiddenInEachForm, whatever stands before and after it, and leaves no part of itself.
func TestAKnownCredentialIsHiddenInEachForm(t *testing.T) {
	forms := map[string]func(string) string{
		"as it is":        func(s string) string { return s },
		"base64":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 in a URL": func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"raw base64":      func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
		"Basic":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte("jane:" + s)) },
		"Basic of others": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + ":y")) },
		"query":           url.QueryEscape,
		"path":            url.PathEscape,
		"lower percents":  func(s string) string { return lower(url.QueryEscape(s)) },
		"all percents": func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			return b.String()
		},
		"user info": func(s string) string { return url.UserPassword("jane", s).String() },
		"JSON": func(s string) string {
			b, _ := json.Marshal(s)
			return string(b)
		},
		"Go":        func(s string) string { return fmt.Sprintf("%q", s) },
		"ASCII":     func(s string) string { return fmt.Sprintf("%+q", s) },
		"HTML":      html.EscapeString,
		"hex":       func(s string) string { return hex.EncodeToString([]byte(s)) },
		"upper hex": func(s string) string { return fmt.Sprintf("%X", s) },
		"control characters within": func(s string) string {
			return strings.Join(strings.Split(s, ""), "\x00")
		},
	}
	for _, secret := range []string{"c4n4ry", `p&"<s>/w+r%d \é☃`, "ghp_0123456789abcdefABCDEF", "pass", "a=b==", "ü~!@#$^*()"} {
		for name, form := range forms {
			for _, around := range []string{"", "x", "xy", "xyz", "Authorization: Basic ", `{"password":"`} {
				text := "refused: " + around + form(secret) + ` "} end`
				got := redact.KnownOf(secret, "other-secret").Text(text)
				if strings.Contains(got, form(secret)) || !strings.HasPrefix(got, "refused: ") || !strings.HasSuffix(got, "} end") || !strings.Contains(got, "***") {
					t.Errorf("%q, %s: %q became %q", secret, name, text, got)
				}
			}
		}
	}
}

func lower(s string) string {
	parts := strings.Split(s, "%")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToLower(parts[i][:2]) + parts[i][2:]
	}
	return strings.Join(parts, "%")
}

func TestALineOfAPrivateKeyIsHidden(t *testing.T) {
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\nAAAAC3NzaC1lZDI1NTE5\n-----END OPENSSH PRIVATE KEY-----\n"
	if got := redact.KnownOf(key).Text("bad line AAAAC3NzaC1lZDI1NTE5 in it"); got != "bad line *** in it" {
		t.Error(got)
	}
}

func TestNothingKnownHidesNothing(t *testing.T) {
	const text = "fetch https://git.example/x: no such branch"
	if got := redact.KnownOf("", "a", "ab\n").Text(text); got != text {
		t.Error(got)
	}
}

func TestWhatAServerSaysIsOneShortLine(t *testing.T) {
	known := redact.KnownOf("c4n4ry")
	for text, want := range map[string]string{
		"Repository not found.":                 "Repository not found.",
		"\n\n first \n second":                  "first",
		"<!DOCTYPE html><title>Sign in</title>": "Sign in",
		"you sent c4n4ry":                       "you sent ***",
		"you sent Yzo0bjRyeQ and YzRuNHJ5":      "you sent Yzo0bjRyeQ and ***",
		"key ZX0123456789abcdefghijklmnop":      "key ***",
		"\x1b[31mred\x1b[0m \u202e":             "[31mred[0m",
		strings.Repeat("word ", 100):            strings.Repeat("word ", 8) + "…",
		"":                                      "",
	} {
		if got := known.Foreign(text, 40); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestALargeCredentialIsHidden as a whole, and each line of one that is a bundle of certificates or a file of configuration.
func TestALargeCredentialIsHidden(t *testing.T) {
	bundle, data := linesOf(100, 64), linesOf(12_000, 8)
	for _, secret := range []string{bundle, data, strings.ReplaceAll(data, "\n", " ")} {
		text := fmt.Sprintf("refused: %s end; %s end; %q", secret, base64.StdEncoding.EncodeToString([]byte("x"+secret)), secret)
		if got := redact.KnownOf(secret, "other", secret).Text(text); len(got) > 100 || !strings.HasPrefix(got, "refused: ") {
			t.Errorf("it became %d bytes: %.100s", len(got), got)
		}
	}
	line := strings.Split(bundle, "\n")[70]
	if got, want := redact.KnownOf(bundle).Text("line 71: "+line), "line 71: ***"; got != want {
		t.Errorf("it became %q", got)
	}
}

// linesOf are n different lines of so many letters and digits.
func linesOf(n, width int) string {
	var out strings.Builder
	for i := range n {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		fmt.Fprintf(&out, "%x\n", sum[:width/2])
	}
	return strings.TrimSpace(out.String())
}

func BenchmarkKnownOf(b *testing.B) {
	for _, lines := range []int{1, 100, 3_500} {
		b.Run(strconv.Itoa(lines), func(b *testing.B) {
			secret := linesOf(lines, 64)
			for b.Loop() {
				redact.KnownOf(secret).Text("a message")
			}
		})
	}
}

func FuzzKnown(f *testing.F) {
	f.Add("c4n4ry", "a", "b")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		secret = strings.TrimSpace(secret)
		got := redact.KnownOf(secret).Text(before + base64.StdEncoding.EncodeToString([]byte(before+secret+after)) + secret + after)
		if len(secret) >= 4 && !strings.Contains("***", secret) && strings.Contains(got, secret) && !strings.Contains(before+after, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
	})
}
