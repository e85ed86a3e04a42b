package sops_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/sops"
	"github.com/truce-gitops/truce/internal/testing/sopstest"
)

func keysOf(t testing.TB, entries map[string]string) sops.Keys {
	t.Helper()
	k, err := sops.ReadKeys(keys.Set{Secret: "apps/sops-keys", Keys: entries}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const secretText = `apiVersion: v1
kind: Secret
metadata:
    name: db
stringData:
    password: c4n4ry-yaml
    port: 5432
    on: true
    empty: ""
    list:
        - one
        - nested: two
    none: null
`

// TestAChangedFileIsRefused: every value, its place, the plain parts, and the MAC itself are covered.
func TestAChangedFileIsRefused(t *testing.T) {
	key := sopstest.NewKey(t)
	k := keysOf(t, map[string]string{"a.agekey": key.Secret()})
	text := key.YAML(t, "^(data|stringData)$", secretText)
	if _, err := sops.Decrypt(t.Context(), []byte(text), sops.YAML, k); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(string) string{
		"a plain value": func(s string) string { return strings.Replace(s, "name: db", "name: other", 1) },
		"one more value": func(s string) string {
			return strings.Replace(s, "    name: db", "    name: db\n    namespace: other", 1)
		},
		"a value made plain": func(s string) string { return replaceLine(s, "    password: ", "    password: known") },
		"a value left out":   func(s string) string { return replaceLine(s, "    port: ", "    #") },
		"a value made empty": func(s string) string { return replaceLine(s, "    password: ", `    password: ""`) },
		"values exchanged": func(s string) string {
			return strings.NewReplacer("    password: ", "    port: ", "    port: ", "    password: ").Replace(s)
		},
		"no MAC's value": func(s string) string { return replaceLine(s, "    mac: ", `    mac: "x"`) },
		"another time": func(s string) string {
			return replaceLine(s, "    lastmodified: ", `    lastmodified: "2020-01-01T00:00:00Z"`)
		},
		"another rule": func(s string) string {
			return replaceLine(s, "    encrypted_regex: ", "    encrypted_regex: ^stringData$|name")
		},
		"other coverage": func(s string) string {
			return strings.Replace(s, "    version:", "    mac_only_encrypted: true\n    version:", 1)
		},
	} {
		f, err := sops.Decrypt(t.Context(), []byte(change(text)), sops.YAML, k)
		if err == nil || f != nil || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func replaceLine(text, prefix, with string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, prefix) {
			line = with
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestAManifestKeepsItsLinesAndPlaceholdersHoldNothing(t *testing.T) {
	key := sopstest.NewKey(t)
	text := key.YAML(t, "^(data|stringData)$", secretText+"---\n"+strings.ReplaceAll(secretText, "name: db", "name: other"))
	f, err := sops.Decrypt(t.Context(), []byte(text), sops.YAML, keysOf(t, map[string]string{"a.agekey": key.Secret()}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Manifest(sops.YAML, sops.Values)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("password: c4n4ry-yaml", `password: "c4n4ry-yaml"`, "- one", `- "one"`, "nested: two", `nested: "two"`).Replace(secretText)
	docs := strings.Split(string(got), "---\n")
	if diff := cmp.Diff(want, strings.TrimRight(docs[0], "\n")+"\n"); diff != "" || len(docs) != 2 {
		t.Errorf("-want +got\n%s", diff)
	}
	if a, b := strings.Count(string(got), "\n"), strings.Count(text, "\n"); a != b {
		t.Errorf("%d lines became %d", b, a)
	}
	other, err := f.Manifest(sops.YAML, sops.Placeholders)
	if err != nil || strings.Contains(string(other), "c4n4ry") || strings.Contains(string(other), "5432") || !strings.Contains(string(other), "on: false") {
		t.Errorf("%v: %s", err, other)
	}
	if secrets := strings.Join(f.Secrets(), " "); !strings.Contains(secrets, "c4n4ry-yaml") || !strings.Contains(secrets, "5432") {
		t.Error(secrets)
	}
}

// TestADocumentMayStayEncrypted, and those beside it are decrypted and covered.
func TestADocumentMayStayEncrypted(t *testing.T) {
	key := sopstest.NewKey(t)
	kept := "metadata:\n    annotations:\n        kustomize.toolkit.fluxcd.io/decrypt: Disabled\nstringData:\n    b: c4n4ry-kept\n"
	text := key.YAML(t, "^stringData$", "stringData:\n    a: c4n4ry-plain\n---\n"+kept)
	f, err := sops.Decrypt(t.Context(), []byte(text), sops.YAML, keysOf(t, map[string]string{"a.agekey": key.Secret()}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Manifest(sops.YAML, sops.Values)
	first, second, _ := strings.Cut(string(got), "---\n")
	if err != nil || !strings.Contains(first, "c4n4ry-plain") || strings.Contains(second, "c4n4ry") || !strings.Contains(second, "\nsops:\n") {
		t.Errorf("%v:\n%s", err, got)
	}
	if strings.Contains(strings.Join(f.Secrets(), " "), "c4n4ry-kept") {
		t.Error("the value of what stays encrypted is given out")
	}
}

func TestAFileWithoutAKeySaysWhichKeysItNeeds(t *testing.T) {
	key, other := sopstest.NewKey(t), sopstest.NewKey(t)
	text := key.YAML(t, "", "a: c4n4ry\n")
	_, err := sops.Decrypt(t.Context(), []byte(text), sops.YAML, keysOf(t, map[string]string{"x.agekey": other.Secret()}))
	for _, want := range []string{key.Recipient(), "none of the keys in the Secret apps/sops-keys decrypts it", "sops updatekeys"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no %q", err, want)
		}
	}
	cloud := strings.Replace(text, "    lastmodified", "    kms:\n        - arn: arn:aws:kms:eu:1:key/2\n          enc: eA==\n          aws_profile: \"\"\n    lastmodified", 1)
	_, err = sops.Decrypt(t.Context(), []byte(cloud), sops.YAML, keysOf(t, nil))
	for _, want := range []string{"AWS KMS arn:aws:kms:eu:1:key/2", "--sops-keyservice", "has no key of age (*.agekey) or PGP (*.asc)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no %q", err, want)
		}
	}
}

func TestABadKeyIsNamedAndNotShown(t *testing.T) {
	for name, text := range map[string]string{
		"a.agekey": "AGE-SECRET-KEY-1C4N4RY", "b.agekey": "AGE-PLUGIN-C4N4RY-1XYZ", "c.agekey": "", "d.agekey": "-----BEGIN OPENSSH PRIVATE KEY-----\nC4N4RY\n-----END OPENSSH PRIVATE KEY-----",
		"e.asc": "C4N4RY", "f.asc": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nC4N4RY\n-----END PGP PRIVATE KEY BLOCK-----",
	} {
		_, err := sops.ReadKeys(keys.Set{Secret: "apps/sops-keys", Keys: map[string]string{name: text}}, nil)
		if err == nil || !strings.Contains(err.Error(), "key "+name+" of the decryption Secret apps/sops-keys") || strings.Contains(err.Error(), "C4N4RY") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFilesOfStockSOPS decrypts what sops itself has encrypted: NAME is the file in the directory encrypted, as it was before in plain.
// testdata/README.md says how they were made.
func TestFilesOfStockSOPS(t *testing.T) {
	k := keysOf(t, stockKeys(t))
	entries, err := os.ReadDir("testdata/encrypted")
	if err != nil || len(entries) < 10 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/encrypted", e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("testdata/plain", e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			format := sops.FormatOf(e.Name())
			f, err := sops.Decrypt(t.Context(), data, format, k)
			if err != nil {
				t.Fatal(err)
			}
			compareViews(t, f, format, string(want), string(data))
		})
	}
}

func stockKeys(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"age.agekey", "hybrid.agekey", "ssh.agekey", "pgp.asc"} {
		text, err := os.ReadFile(filepath.Join("testdata/keys", name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(text)
	}
	return out
}

// TestEachKindOfKeyOpensAFile: of age, by its new hybrid keys, of SSH, and of PGP; and a file of three groups, of which two are needed.
func TestEachKindOfKeyOpensAFile(t *testing.T) {
	all := stockKeys(t)
	for file, want := range map[string]map[string]bool{
		"age.yaml":    {"age.agekey": true},
		"hybrid.yaml": {"hybrid.agekey": true},
		"ssh.yaml":    {"ssh.agekey": true},
		"pgp.yaml":    {"pgp.asc": true},
		"groups.yaml": {"age.agekey pgp.asc": true, "age.agekey ssh.agekey": true, "pgp.asc ssh.agekey": true},
	} {
		data, err := os.ReadFile("testdata/encrypted/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range []string{"age.agekey", "hybrid.agekey", "ssh.agekey", "pgp.asc", "age.agekey pgp.asc", "age.agekey ssh.agekey", "pgp.asc ssh.agekey"} {
			given := map[string]string{}
			opens := want[names]
			for name := range strings.FieldsSeq(names) {
				given[name] = all[name]
				opens = opens || want[name]
			}
			if _, err := sops.Decrypt(t.Context(), data, sops.YAML, keysOf(t, given)); (err == nil) != opens {
				t.Errorf("%s with %s: %v", file, names, err)
			}
		}
	}
}

func TestWhatIsNotEncryptedIsLeftAlone(t *testing.T) {
	for format, text := range map[sops.Format]string{
		sops.YAML: "sops: no mapping? ENC[AES256_GCM,\n", sops.JSON: `{"a": "ENC[AES256_GCM,", "sops": {}}`, sops.Dotenv: "sops_version=1\n", sops.INI: "[a]\nb=c\n", sops.Binary: "\x00sops ENC[AES256_GCM,",
	} {
		if _, err := sops.Decrypt(t.Context(), []byte(text), format, sops.Keys{}); format != sops.YAML && !errors.Is(err, sops.ErrPlain) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestABombIsALimit(t *testing.T) {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, y, x, y, x, y, x, y, x, y]\n")
	for n := 1; n < 9; n++ {
		text.WriteString(strings.NewReplacer("N", string(rune('0'+n)), "M", string(rune('0'+n-1))).Replace("aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n"))
	}
	text.WriteString("sops: {mac: x}\n")
	if _, err := sops.Decrypt(t.Context(), []byte(text.String()), sops.YAML, sops.Keys{}); err == nil || !strings.Contains(err.Error(), "limit exceeded") {
		t.Error(err)
	}
}

// FuzzDecrypt reads anything without a panic, and gives nothing that the MAC does not cover.
func FuzzDecrypt(f *testing.F) {
	entries, err := os.ReadDir("testdata/encrypted")
	if err != nil {
		f.Fatal(err)
	}
	k := keysOf(f, stockKeys(f))
	plain := map[string]bool{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join("testdata/encrypted", e.Name()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, string(sops.FormatOf(e.Name())))
		file, err := sops.Decrypt(context.Background(), data, sops.FormatOf(e.Name()), k)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range file.Secrets() {
			plain[s] = true
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format string) {
		file, err := sops.Decrypt(t.Context(), data, sops.Format(format), k)
		if err != nil {
			return
		}
		for _, view := range []sops.View{sops.Values, sops.Placeholders} {
			_, _ = file.Bytes(sops.Format(format), view)
			_, _ = file.Manifest(sops.Format(format), view)
		}
		for _, s := range file.Secrets() {
			if !plain[s] {
				t.Errorf("%q was in no file", s)
			}
		}
	})
}
