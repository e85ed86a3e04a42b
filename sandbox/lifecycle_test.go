package sandbox_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestARestartOnTheSameDirectoryFindsItsObjectsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a long name, with a space and ünicode "+strings.Repeat("x", 80))
	first := start(t, "--dir", dir, "--nodes", "2")
	clients := kubernetes.NewForConfigOrDie(first.config(t))
	lost := template(nil).Spec
	lost.NodeName = "node-2"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Spec: lost}
	if _, err := clients.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(first.kubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info.Mode(), err)
	}
	// Neither an open watch nor a request that will not be answered holds up the end.
	if _, err := clients.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	unanswered(t, clients)
	first.terminate(t, syscall.SIGTERM)

	second := start(t, "--dir", dir)
	if second.server != first.server {
		t.Errorf("the port has changed from %s to %s", first.server, second.server)
	}
	// The client has the certificate and the authority of the first run.
	if _, err := clients.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	// There is one node now; the pod of the other went with it.
	if _, err := clients.CoreV1().Pods("default").Get(t.Context(), "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod of a node that is no more: %v", err)
	}
	second.terminate(t, syscall.SIGINT)
	leftIsRefusedWhenDamaged(t, dir)
}

// unanswered leaves a request at the API server that waits for a webhook which
// says nothing until the test ends.
func unanswered(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	asked := make(chan struct{}, 1)
	server, ca := secure(t, func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-t.Context().Done()
	})
	none, ignore, most := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore, int32(30)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "silent.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &ignore, TimeoutSeconds: &most,
			ClientConfig:   admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"answer": "none"}},
			Rules:          []admissionregistrationv1.RuleWithOperations{{Operations: onCreate(), Rule: configMaps()}},
		}},
	}
	if _, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server reads its webhooks a moment late: one of these is the first to wait.
	look, within := time.NewTicker(50*time.Millisecond), limit(t)
	defer look.Stop()
	for {
		go func() {
			one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "silent-", Labels: map[string]string{"answer": "none"}}}
			_, _ = clients.CoreV1().ConfigMaps("default").Create(t.Context(), one, metav1.CreateOptions{}) // it ends with the server
		}()
		select {
		case <-asked:
			return
		case <-look.C:
		case <-within.Done():
			t.Fatal("the webhook is never asked")
		}
	}
}

// leftIsRefusedWhenDamaged harms a copy of the directory in one way after the
// other. It is part of the restart test, which has a directory to offer.
func leftIsRefusedWhenDamaged(t *testing.T, dir string) {
	for name, harm := range map[string]struct {
		file string
		do   func(file string) error
	}{
		"certificate cut off":      {"pki/cluster-ca.crt", cut},
		"key lost":                 {"pki/front-proxy-ca.key", os.Remove},
		"token key cut off":        {"pki/service-account.key", cut},
		"log overwritten":          {"etcd/member/wal/*.wal", overwrite},
		"log lost":                 {"etcd/member/wal/*.wal", os.Remove},
		"database overwritten":     {"etcd/member/snap/db", overwrite},
		"database harmed inside":   {"etcd/member/snap/db", overwriteInside},
		"pages shuffled":           {"etcd/member/snap/db", shuffle},
		"database cut off":         {"etcd/member/snap/db", halve},
		"port is no number":        {"port", overwrite},
		"marker of someone else's": {".truce-sandbox", overwrite},
	} {
		t.Run(name, func(t *testing.T) {
			broken := filepath.Join(t.TempDir(), "broken")
			if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(broken, harm.file))
			if err != nil || len(files) == 0 {
				t.Fatal(harm.file, files, err)
			}
			for _, file := range files {
				if err := harm.do(file); err != nil {
					t.Fatal(err)
				}
			}
			e := refused(t, "--dir", broken)
			if e.code != 1 || !strings.Contains(e.stderr, broken) || !strings.Contains(e.stderr, "remove") {
				t.Error(e)
			}
		})
	}
}

func cut(file string) error { return os.Truncate(file, 60) }

func halve(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, info.Size()/2)
}

const page = 4096 // of bbolt, here

// overwriteInside leaves what is read when a database is opened: its first pages.
func overwriteInside(file string) error {
	return change(file, func(data []byte) {
		for i := 8 * page; i < len(data); i++ {
			data[i] = "garbage "[i%8]
		}
	})
}

// shuffle makes pages that are sound by themselves lie where others belong.
func shuffle(file string) error {
	return change(file, func(data []byte) {
		for i := 4 * page; i+2*page <= len(data); i += 2 * page {
			first := slices.Clone(data[i : i+page])
			copy(data[i:], data[i+page:i+2*page])
			copy(data[i+page:], first)
		}
	})
}

func change(file string, harm func([]byte)) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	harm(data)
	return os.WriteFile(file, data, 0o600)
}

func overwrite(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(strings.Repeat("garbage ", 4096))
	return err
}

func TestADirectoryOfSomeoneElsesIsRefusedAndNotTouched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := refused(t, "--dir", dir)
	if e.code != 1 || !strings.Contains(e.stderr, "choose a new or empty directory") {
		t.Error(e)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Error("it was touched:", entries, err)
	}
}

func TestASecondInstanceOnADirectoryIsRefused(t *testing.T) {
	e := refused(t, "--dir", filepath.Dir(shared.kubeconfig))
	if want := fmt.Sprintf("(pid %d)", shared.cmd.Process.Pid); e.code != 1 || !strings.Contains(e.stderr, want) {
		t.Error(e, "want", want)
	}
}

func TestABusyPortIsRefused(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	e := refused(t, "--dir", t.TempDir(), "--port", port)
	if e.code != 1 || !strings.Contains(e.stderr, "port "+port) || !strings.Contains(e.stderr, "--port 0") {
		t.Error(e)
	}
}

func TestWrongUsageIsExitCodeTwo(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"--dir", "x", "more"},
		{"--dir", "x", "--port", "70000"},
		{"--dir", "x", "--nope"},
		{"--dir", "x", "--apiserver-flag", "nope=1"},
		{"--dir", "x", "--hpa-sync-period", "0s"},
		{"--dir", filepath.Join(t.TempDir(), "x"), "--", "--max-requests-inflight=many"},
	} {
		cmd := exec.Command(filepath.Join(binaries, "truce-sandbox"), args...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

func TestItEndsWithTheProcessThatStartedIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "orphan")
	// The shell prints the line and waits to be killed.
	shell := exec.Command("sh", "-c", `"$0" --dir "$1" --fsync=false --exit-with-parent & wait`, filepath.Join(binaries, "truce-sandbox"), dir)
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The pipe is closed when its last holder is gone.
	ended := make(chan error, 1)
	go func() {
		_, err := out.Read(make([]byte, 1))
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Log("ended:", err)
	case <-limit(t).Done():
		t.Error("it lives on")
	}
	if err := shell.Wait(); err == nil {
		t.Error("the shell was not killed")
	}
}
