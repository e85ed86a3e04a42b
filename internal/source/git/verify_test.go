package git_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestACommitIsVerifiedByATrustedKey(t *testing.T) {
	pgp, shell := gittest.NewPGPKey(t, 0), gittest.NewSSHKey(t)
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s := newStore(t)
	for _, url := range []string{r.URL, server.URL} {
		for _, key := range []*gittest.Key{pgp, shell} {
			r.Commit(map[string]string{"a": key.Name}, "by "+key.Name)
			hash := r.SignHead(key)
			spec := mainOf(url)
			spec.Verify = source.Verification{
				Commit: true, Secret: "team/keys", PGP: gittest.NewPGPKey(t, 0).Public + pgp.Public, SSH: "# people\n" + gittest.NewSSHKey(t).Public + shell.Public,
			}
			a := fetch(t, s, spec)
			if want := "verified signature of commit " + hash + " with " + key.Name; a.Commit != hash || a.Verified != want {
				t.Errorf("%s: %q, want %q", a.Commit, a.Verified, want)
			}
		}
	}
}

func TestACommitThatNoTrustedKeySignedIsRefused(t *testing.T) {
	pgp, shell, expired := gittest.NewPGPKey(t, 0), gittest.NewSSHKey(t), gittest.NewPGPKey(t, time.Hour)
	otherPGP, otherShell := gittest.NewPGPKey(t, 0), gittest.NewSSHKey(t)
	file := gittest.NewSSHKey(t)
	file.Namespace = "file"
	trusted := source.Verification{Commit: true, Secret: "team/keys", PGP: pgp.Public + expired.Public, SSH: shell.Public + file.Public}
	signed := func(key *gittest.Key) func(*gittest.Repo) { return func(r *gittest.Repo) { r.SignHead(key) } }
	// altered signs, and changes a word of the object after that.
	altered := func(key *gittest.Key) func(*gittest.Repo) {
		return func(r *gittest.Repo) {
			r.SignHead(key)
			r.WriteCommit(strings.Replace(r.Git("cat-file", "commit", "main"), "first", "worse", 1) + "\n")
		}
	}
	for name, tc := range map[string]struct {
		change func(*gittest.Repo)
		want   string
	}{
		"unsigned":            {func(*gittest.Repo) {}, "has no signature"},
		"PGP, another key":    {signed(otherPGP), "signed with the " + otherPGP.Name + ", which is none of the trusted keys"},
		"SSH, another key":    {signed(otherShell), "signed with the " + otherShell.Name + ", which is none of the trusted keys"},
		"PGP, altered":        {altered(pgp), "with the " + pgp.Name + " does not hold"},
		"SSH, altered":        {altered(shell), "with the " + shell.Name + " does not hold"},
		"PGP, key expired":    {signed(expired), "expired"},
		"SSH, for files":      {signed(file), `is for "file", not for git`},
		"signature in text":   {func(r *gittest.Repo) { r.Commit(nil, "text\n\ngpgsig "+pgp.Sign("text")) }, "has no signature"},
		"unsigned, on signed": {func(r *gittest.Repo) { r.SignHead(pgp); r.Commit(map[string]string{"a": "2"}, "second") }, "has no signature"},
		"two signatures": {func(r *gittest.Repo) {
			r.SignHead(shell)
			once := r.Git("cat-file", "commit", "main")
			head, body, _ := strings.Cut(once, "\n\n")
			_, header, _ := strings.Cut(head, "\ngpgsig ")
			r.WriteCommit(head + "\ngpgsig " + header + "\n\n" + body + "\n")
		}, "2 headers gpgsig"},
		"of another form": {func(r *gittest.Repo) {
			head, body, _ := strings.Cut(r.Git("cat-file", "commit", "main"), "\n\n")
			r.WriteCommit(head + "\ngpgsig -----BEGIN SIGNED MESSAGE-----\n AAAA\n -----END SIGNED MESSAGE-----\n\n" + body + "\n")
		}, "not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t, map[string]string{"a": "1"})
			tc.change(r)
			spec := mainOf(r.URL)
			spec.Verify = trusted
			text := refused(t, newStore(t), spec, source.VerificationFailed)
			if !strings.Contains(text, tc.want) || !strings.Contains(text, r.Head()) {
				t.Errorf("%s\nwant %q", text, tc.want)
			}
			t.Log(text)
		})
	}
}

func TestATagIsVerifiedAndTheCommitBesideItWhereBothAreWanted(t *testing.T) {
	pgp, shell := gittest.NewPGPKey(t, 0), gittest.NewSSHKey(t)
	keys := source.Verification{PGP: pgp.Public, SSH: shell.Public, Secret: "team/keys"}
	tag, both := keys, keys
	tag.Tag, both.Tag, both.Commit = true, true, true
	r := gittest.New(t, map[string]string{"a": "1"})
	r.SignedTag("v1.0.0", "", pgp)
	r.SignedTag("v0.1.0", "", nil)
	r.SignedTag("v0.2.0", "", gittest.NewSSHKey(t))
	r.Tag("v0.3.0", "")
	r.Ref("refs/tags/v9.0.0", r.Git("rev-parse", "v1.0.0"))
	r.Commit(map[string]string{"a": "2"}, "second")
	signed := r.SignHead(shell)
	r.SignedTag("v2.0.0", "", shell)
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s := newStore(t)
	for _, url := range []string{r.URL, server.URL} {
		for _, tc := range []struct {
			ref    source.Ref
			verify source.Verification
			want   string // what is verified, or what is wrong
			ok     bool
		}{
			{source.Ref{Tag: "v1.0.0"}, tag, `tag "v1.0.0" with ` + pgp.Name, true},
			{source.Ref{SemVer: "2.x"}, both, `tag "v2.0.0" with ` + shell.Name + " and commit " + signed + " with " + shell.Name, true},
			{source.Ref{Name: "refs/tags/v2.0.0"}, both, `tag "v2.0.0" with ` + shell.Name, true},
			{source.Ref{Tag: "v1.0.0"}, both, "has no signature", false},
			{source.Ref{Tag: "v0.1.0"}, tag, `tag "v0.1.0" has no signature`, false},
			{source.Ref{Tag: "v0.2.0"}, tag, "none of the trusted keys", false},
			{source.Ref{Tag: "v0.3.0"}, tag, "is not annotated", false},
			{source.Ref{SemVer: ">=0.0.0"}, tag, `tag "v9.0.0" holds the tag object of another tag, "v1.0.0"`, false},
			{source.Ref{Branch: "main"}, tag, "the reference is no tag", false},
		} {
			spec := source.Spec{URL: url, Ref: tc.ref, Verify: tc.verify}
			if tc.ok {
				if a := fetch(t, s, spec); !strings.Contains(a.Verified, tc.want) {
					t.Errorf("%+v: verified %q, want %q", tc.ref, a.Verified, tc.want)
				}
			} else if text := refused(t, s, spec, source.VerificationFailed); !strings.Contains(text, tc.want) {
				t.Errorf("%+v: %s, want %q", tc.ref, text, tc.want)
			}
		}
	}
}

func TestKeysThatCannotBeReadVerifyNothing(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	key := gittest.NewPGPKey(t, 0)
	r.SignHead(key)
	for name, v := range map[string]source.Verification{
		"none":             {},
		"no PGP key":       {PGP: "a key"},
		"half a PGP key":   {PGP: key.Public[:200]},
		"no SSH key":       {SSH: "ssh-ed25519 not-base64"},
		"SSH with options": {SSH: `command="x" ` + gittest.NewSSHKey(t).Public},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mainOf(r.URL)
			spec.Verify = v
			spec.Verify.Commit, spec.Verify.Secret = true, "team/keys"
			if text := refused(t, newStore(t), spec, source.VerificationError); !strings.Contains(text, "Secret team/keys: ") {
				t.Error(text)
			}
		})
	}
}
