package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// deployment is what the test reads of deploy/base/deployment.yaml.
type deployment struct {
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Args                          []string
					Ports                         []struct{ ContainerPort int }
					LivenessProbe, ReadinessProbe struct{ HTTPGet struct{ Path, Port string } }
				}
			}
		}
	}
}

// TestTheDeploymentIsWhatTheServerTakesAndTheProgramUnderstands renders deploy/ with kubectl, lets the server check it, and starts the
// program with the container's own arguments: the probes must come true.
func TestTheDeploymentIsWhatTheServerTakesAndTheProgramUnderstands(t *testing.T) {
	c, bin := kubetest.Start(t), program(t)
	c.Kubectl(t, "kustomize", "../../deploy")
	out := c.Kubectl(t, "create", "namespace", "truce-system", "--dry-run=client", "-o", "yaml")
	c.Apply(t, out) // a dry run makes none, and what is in it needs one
	c.Kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--field-manager=test", "--force-conflicts", "-k", "../../deploy")
	installCRDs(t, c)

	text, err := os.ReadFile("../../deploy/base/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d deployment
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	container := d.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff("/healthz http /readyz http", container.LivenessProbe.HTTPGet.Path+" "+container.LivenessProbe.HTTPGet.Port+" "+container.ReadinessProbe.HTTPGet.Path+" "+container.ReadinessProbe.HTTPGet.Port); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	port, page, args := freePort(t), freePort(t), container.Args
	for i, a := range args {
		a = strings.Replace(a, fmt.Sprintf("0.0.0.0:%d", container.Ports[0].ContainerPort), "127.0.0.1:"+port, 1)
		a = strings.Replace(a, "--listen=127.0.0.1:8081", "--listen=127.0.0.1:"+page, 1) // the page is within the pod
		args[i] = strings.Replace(a, "/data/", t.TempDir()+"/", 1)
	}
	run := func(more ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "truce"), append(args, more...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
		cmd.Stderr = t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := interrupt(cmd); err != nil {
				t.Error(err)
			}
		})
		return cmd
	}
	run()
	awaitOK(t, "http://127.0.0.1:"+port+container.LivenessProbe.HTTPGet.Path)
	awaitOK(t, "http://127.0.0.1:"+port+container.ReadinessProbe.HTTPGet.Path)

	awaitOK(t, "http://127.0.0.1:"+port+"/metrics")
	opensOnce(t, func() string { return dashboard(t, bin, c.Kubeconfig) })
	response, err := http.Get("http://127.0.0.1:" + page + "/journal")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("the page is open to all in the pod: %s %v", response.Status, err)
	}
	for _, path := range []string{"/", "/journal"} {
		response, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("%s is open to all who reach the pod: %s %v", path, response.Status, err)
		}
	}

	// the other one stands by, and is ready to
	second, standby := freePort(t), freePort(t)
	run("--listen=127.0.0.1:"+standby, "--metrics-listen=127.0.0.1:"+second, "--cache-dir="+t.TempDir())
	awaitOK(t, "http://127.0.0.1:"+second+container.ReadinessProbe.HTTPGet.Path)
	if response, err = http.Get("http://127.0.0.1:" + standby + "/journal"); err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the page of the one that stands by: %s %v", response.Status, err)
	}
	if holder := c.Kubectl(t, "-n", "default", "get", "lease", "truce-controller", "-o", "jsonpath={.spec.leaseTransitions}"); holder != "0" && holder != "" {
		t.Errorf("the second has taken the lease: %s transitions", holder)
	}
}

// dashboard is the link that `truce dashboard` prints. The controller writes down where its page is once it works.
func dashboard(t *testing.T, bin, kubeconfig string) string {
	t.Helper()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(3 * time.Minute); ; {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "truce"), "dashboard", "--kubeconfig", kubeconfig)
		link, err := cmd.Output()
		if err == nil {
			return strings.TrimSpace(string(link))
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("truce dashboard: %v", err)
		}
	}
}

// opensOnce checks that a link opens the page, in one browser only.
func opensOnce(t *testing.T, link func() string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	mine, path := &http.Client{Jar: jar}, link()
	for _, x := range []struct {
		browser *http.Client
		code    int
	}{{mine, http.StatusOK}, {&http.Client{}, http.StatusForbidden}, {mine, http.StatusOK}} {
		response, err := x.browser.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != x.code {
			t.Errorf("the link to the page: %s %v, want %d", response.Status, err, x.code)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func awaitOK(t *testing.T, url string) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	last := ""
	for deadline := time.After(3 * time.Minute); ; {
		response, err := http.Get(url)
		if err == nil {
			body, readErr := io.ReadAll(response.Body)
			last = fmt.Sprintf("%s: %s %v %v", response.Status, body, readErr, response.Body.Close())
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("%s: %v; %s", url, err, last)
		}
	}
}
