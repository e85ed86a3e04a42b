package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRenderSaysWhatIsEncrypted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret.yaml")
	const text = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: 'ENC[AES256_GCM,data:eA==,type:str]'}\nsops: {mac: 'ENC[AES256_GCM,data:eA==,type:str]'}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: open}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := answered(t, Cluster{}, "render -f "+file)
	if code != 0 || strings.Count(errs, "is encrypted by SOPS") != 1 || !strings.Contains(errs, "secret.yaml:1: Secret db is encrypted by SOPS") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
