package sops_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/sops"
)

// stock runs the sops that TRUCE_SOPS names; without it the test is skipped, and the files in testdata have to do.
type stock struct {
	program, dir string
	identity     *age.X25519Identity
}

func newStock(t *testing.T) stock {
	t.Helper()
	program := os.Getenv("TRUCE_SOPS")
	if program == "" {
		t.Skip("TRUCE_SOPS names no sops program")
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return stock{program, t.TempDir(), id}
}

func (s stock) run(t *testing.T, args ...string) []byte {
	t.Helper()
	c := exec.Command(s.program, args...)
	c.Dir, c.Env = s.dir, []string{"HOME=" + s.dir, "PATH=/nonexistent", "SOPS_AGE_KEY=" + s.identity.String()}
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Logf("%v: %v: %s", args, err, problems.String())
		return nil
	}
	return out.Bytes()
}

func (s stock) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s stock) keys(t *testing.T) sops.Keys {
	t.Helper()
	k, err := sops.ReadKeys(keys.Set{Secret: "ns/keys", Keys: map[string]string{"a.agekey": s.identity.String()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestStockSOPSDecryptsTheSame compares what a build gets with what sops itself gives, over documents made at random.
func TestStockSOPSDecryptsTheSame(t *testing.T) {
	s := newStock(t)
	rules := []string{
		"", "unencrypted_suffix: _u", "encrypted_suffix: _e", "unencrypted_regex: ^(a|meta)", `encrypted_regex: "^(data|stringData|b.*)$"`, "mac_only_encrypted: true",
		"mac_only_encrypted: true, encrypted_regex: a", "encrypted_comment_regex: sops:enc", "unencrypted_comment_regex: sops:plain",
	}
	for n := range 60 {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		for _, kind := range []string{"yaml", "json", "env", "ini", "txt"} {
			rule := rules[r.IntN(len(rules))]
			if strings.Contains(rule, "comment") && kind != "yaml" {
				continue
			}
			s.write(t, ".sops.yaml", "creation_rules: [{"+strings.TrimPrefix(rule+", age: ", ", ")+s.identity.Recipient().String()+"}]")
			text := document(r, kind)
			name := fmt.Sprintf("%d.%s", n, kind)
			s.write(t, name, text)
			encrypted := s.run(t, "encrypt", name)
			if encrypted == nil {
				t.Logf("not encrypted: %q", text)
				continue
			}
			s.write(t, "e."+kind, string(encrypted))
			want := s.run(t, "decrypt", "e."+kind)
			f, err := sops.Decrypt(t.Context(), encrypted, sops.FormatOf(name), s.keys(t))
			if want == nil {
				if err == nil {
					t.Errorf("sops refuses it: %s", encrypted)
				}
				continue
			}
			if err != nil {
				t.Errorf("%v: %v\n%s\n%s", rule, err, text, encrypted)
				continue
			}
			compareViews(t, f, sops.FormatOf(name), string(want), string(encrypted))
		}
	}
}

func compareViews(t *testing.T, f *sops.File, format sops.Format, want, encrypted string) {
	t.Helper()
	got, err := f.Bytes(format, sops.Values)
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v, -sops +truce\n%s\nof\n%s", err, diff, encrypted)
	}
	if format != sops.YAML {
		return
	}
	manifest, err := f.Manifest(format, sops.Values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allValues(t, want), allValues(t, string(manifest))); diff != "" {
		t.Errorf("in place, -sops +truce\n%s\nof\n%s\nis\n%s", diff, encrypted, manifest)
	}
	if strings.Count(string(manifest), "\n") != strings.Count(encrypted, "\n") && !strings.Contains(want, "\u2028") && !strings.Contains(want, "[]") {
		t.Errorf("lines have moved:\n%s", manifest)
	}
	if bytes.Contains(manifest, []byte(",type:str]")) && !bytes.Contains(manifest, []byte("#ENC")) {
		t.Errorf("something is left:\n%s", manifest)
	}
}

func allValues(t *testing.T, text string) (out []any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v any
		if d.Decode(&v) != nil {
			return out
		}
		if v != nil {
			out = append(out, v)
		}
	}
}

// document makes a file of a kind.
func document(r *rand.Rand, kind string) string {
	switch kind {
	case "yaml":
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, yamlMapping(r, 0))
		}
		return strings.Join(parts, "---\n")
	case "json":
		return jsonValue(r, 0)
	case "env":
		return lines(r, "%s=%s\n", "#")
	case "ini":
		return "[one]\n" + lines(r, "%s = %s\n", "; ") + "[two words]\n" + lines(r, "%s=%s\n", "# ")
	}
	return word(r) + "\x00\n" + word(r)
}

func lines(r *rand.Rand, form, mark string) string {
	var out strings.Builder
	for n := range 1 + r.IntN(4) {
		if r.IntN(3) == 0 {
			out.WriteString(mark + "note " + key(r) + "\n")
		}
		fmt.Fprintf(&out, form, key(r)+fmt.Sprint(n), []string{"x", "", "1.5", "a b", "p=q", `back\nslash`, "üñ☃", "true"}[r.IntN(8)])
	}
	return out.String()
}

func key(r *rand.Rand) string {
	return []string{"a", "b", "data", "stringData", "x_u", "y_e", "a_unencrypted", "meta", "k.dot", "with:colon"}[r.IntN(8)]
}

func word(r *rand.Rand) string {
	return []string{"plain", "a b", "ünï☃𝄞", "", "tab\there", "line\nbreak\n", `quote"s'`, "1", "true", "null", "- x", "# no comment", "2001-02-03", "x: y", " lead", "trail ", "<&>", "\u2028"}[r.IntN(18)]
}

func yamlScalar(r *rand.Rand) string {
	switch r.IntN(9) {
	case 0:
		return fmt.Sprint(r.IntN(3000) - 1500)
	case 1:
		return []string{"1.5", "1e3", "0.1", "-2.25e-7", "123456789.5", ".inf"}[r.IntN(6)]
	case 2:
		return []string{"true", "false"}[r.IntN(2)]
	case 3:
		return []string{"null", "~", `""`}[r.IntN(3)]
	case 4:
		return []string{"2001-02-03T04:05:06Z", "2001-02-03", "2024-05-06T07:08:09.5+02:00"}[r.IntN(3)]
	case 5:
		return []string{"0x1F", "010", "0o17", "9223372036854775807", "1_000"}[r.IntN(5)]
	case 6:
		return "[1, two, {three: 3}]"
	}
	text, _ := yaml.Marshal(word(r))
	if strings.Contains(string(text), "|") {
		return `"l1\nl2"`
	}
	return strings.TrimSuffix(string(text), "\n")
}

func yamlMapping(r *rand.Rand, depth int) string {
	var out strings.Builder
	indent := strings.Repeat("  ", depth)
	comment := func() {
		if r.IntN(4) == 0 {
			out.WriteString(indent + []string{"# note\n", "# sops:enc\n", "# sops:plain\n", "#tight\n"}[r.IntN(4)])
		}
	}
	anchored := false
	for n := range 1 + r.IntN(5) {
		comment()
		name := fmt.Sprintf("%s%s%d", indent, key(r), n)
		if strings.HasSuffix(name, "_e") || strings.HasSuffix(name, "_u") {
			name = strings.TrimSuffix(name, fmt.Sprint(n))
		}
		switch form := r.IntN(8); {
		case form == 0 && depth < 3:
			out.WriteString(name + ":\n" + yamlMapping(r, depth+1))
		case form == 1 && depth < 3:
			out.WriteString(name + ":\n")
			for range 1 + r.IntN(3) {
				comment()
				out.WriteString(indent + "  - " + yamlScalar(r) + "\n")
			}
		case form == 2 && depth < 3:
			out.WriteString(name + ":\n" + indent + "  - name: " + yamlScalar(r) + "\n" + indent + "    value: " + yamlScalar(r) + "\n")
		case form == 3:
			out.WriteString(name + ": |\n" + indent + "    block ☃\n" + indent + "    text\n")
		case form == 4 && !anchored:
			anchored = true
			out.WriteString(name + ": &anchor" + fmt.Sprint(depth) + " shared\n" + indent + "z: *anchor" + fmt.Sprint(depth) + "\n")
		case form == 5:
			out.WriteString(name + ": " + yamlScalar(r) + " # behind\n")
		default:
			out.WriteString(name + ": " + yamlScalar(r) + "\n")
		}
	}
	comment()
	return out.String()
}

func jsonValue(r *rand.Rand, depth int) string {
	var parts []string
	for n := range 1 + r.IntN(4) {
		v := []string{`"x"`, `""`, "1", "1.5", "-1e3", "true", "null", `"ü☃\n<&>"`, `[1, "two", null, {"three": 3.0}]`, "[]", "{}", "9007199254740993", "1e400"}[r.IntN(12)]
		if depth < 2 && r.IntN(4) == 0 {
			v = jsonValue(r, depth+1)
		}
		parts = append(parts, fmt.Sprintf("%q: %s", key(r)+fmt.Sprint(n), v))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
