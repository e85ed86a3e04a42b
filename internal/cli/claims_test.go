package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
)

// someClaimants are those of a cluster.
type someClaimants struct {
	ObjectReader
	found []claim.Claimant
}

func (s someClaimants) Claimants(context.Context, *claim.Catalogue, string) ([]claim.Claimant, error) {
	return s.found, nil
}

// claims runs `truce claims` with a cluster that has the claimants.
func claims(t *testing.T, found []claim.Claimant, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	b := Backend{Clusters: answers{Cluster{ObjectReader: someClaimants{found: found}}}}
	code = Execute(t.Context(), Environment{Out: &o, Err: &e, Program: "truce", Args: append([]string{"claims"}, args...), Getenv: func(string) string { return "" }}, b)
	return o.String(), e.String(), code
}

const claimsFile = "../../docs/claims.md"

func TestThePageOfClaimsIsInStep(t *testing.T) {
	want, _, code := claims(t, nil, "-o", "markdown")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(claimsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(claimsFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/claims.md is not what the catalogue says; run go generate ./internal/cli\n%s", d)
	}
}

func TestClaimsExplainsAnEntry(t *testing.T) {
	out, _, code := claims(t, nil, "--explain", "keda")
	want := `ID:           keda
Who:          KEDA
Evidence:     a ScaledObject.keda.sh that refers to it (spec.scaleTargetRef)
On:           *
Fields:       spec.replicas
Do:           cede: Git's values of the fields are not applied while the claim holds
Values:       from spec.minReplicaCount (else 0) to spec.maxReplicaCount (else 100)
              exactly metadata.annotations["autoscaling.keda.sh/paused-replicas"], where that is set
              0 is a value of its own
Goes over:    hpa
Known from:   https://keda.sh/docs/latest/reference/scaledobject-spec/
              kedacore/keda pkg/scaling/executor/scale_scaledobjects.go

A ScaledObject moves the count of what it names: KEDA itself between 0 and 1, to idleReplicaCount, to the fallback and to paused-replicas, and an HPA that KEDA makes from 1 up. So 0 is a legitimate value although that HPA's minReplicas is 1.
`
	if d := cmp.Diff(want, out); d != "" || code != 0 {
		t.Errorf("exit code %d: %s", code, d)
	}
	if _, errs, code := claims(t, nil, "--explain", "nobody"); code != int(exit.Usage) || !strings.Contains(errs, `--explain "nobody": no such entry`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestClaimsPrintsEveryEntryInEveryForm(t *testing.T) {
	for _, form := range []string{"", "wide", "name", "json", "yaml", "markdown"} {
		out, errs, code := claims(t, nil, "-o", form)
		if code != 0 {
			t.Fatalf("-o %s: exit code %d: %s", form, code, errs)
		}
		for _, e := range claim.Builtin().Entries() {
			if !strings.Contains(out, e.ID) {
				t.Errorf("-o %s: %s is missing", form, e.ID)
			}
		}
	}
}

func TestAFileOfClaimsIsCheckedWithItsLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("claims:\n- id: mine\n  whom: x\n")
	if _, errs, code := claims(t, nil, "--claims-file", file); code != int(exit.Usage) || !strings.Contains(errs, "mine.yaml:3: unknown key whom") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	write("claims: [{id: mine, who: we, evidence: [{label: a}], on: [Thing.example.org], paths: [spec.x], do: cede, text: Ours.}, {id: hpa, off: true}]\n")
	out, errs, code := claims(t, nil, "--claims-file", file, "-o", "wide")
	if code != 0 || !strings.Contains(out, "Thing.example.org") || strings.Contains(out, "\nhpa ") {
		t.Errorf("exit code %d: %s\n%s", code, errs, out)
	}
	if _, errs, code := claims(t, nil, "--claims-file", file+".not"); code != int(exit.Usage) || !strings.Contains(errs, "no such file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestClaimsPrintsTheClaimantsOfACluster(t *testing.T) {
	hpa := object.Object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{object.PartOf: "flux-system.web"}},
		"spec":     map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": int64(9)}}
	green := object.Object{"apiVersion": "kube-green.com/v1alpha1", "kind": "SleepInfo", "metadata": map[string]any{"name": "nights", "namespace": "shop"},
		"status": map[string]any{"operation": "SLEEP"}}
	found := append(claim.Builtin().Read(hpa), claim.Builtin().Read(green)...)
	found[1].Idle = "it is asleep"
	out, errs, code := claims(t, found, "--live", "-A")
	want := `CLAIMANT                           TARGET             VALUES   ENTRY        APP               STATE
HorizontalPodAutoscaler shop/web   Deployment web     1 to 9   hpa          flux-system.web   active
SleepInfo shop/nights              every Deployment   0 up     kube-green   <none>            stands still: it is asleep
`
	if d := cmp.Diff(want, out); d != "" || code != 0 {
		t.Errorf("exit code %d: %s%s", code, errs, d)
	}
	out, _, _ = claims(t, found, "--live", "-A", "-o", "json")
	if !strings.Contains(out, `"kind": "ClaimantList"`) || !strings.Contains(out, `"idle": "it is asleep"`) {
		t.Error(out)
	}
	if _, errs, code := claims(t, nil, "--live", "-A"); code != 0 || !strings.Contains(errs, "no claimants in the cluster") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestTheExamplesOfThePageAreRight reads the catalogue that docs/claims.md shows.
func TestTheExamplesOfThePageAreRight(t *testing.T) {
	_, rest, ok := strings.Cut(claimsHead, "```yaml\n")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page shows no example")
	}
	c, err := claim.Builtin().With("example", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Entry("matchmaker"); !ok {
		t.Error("the example adds nothing")
	}
}
