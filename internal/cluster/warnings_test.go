package cluster_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/truce-gitops/truce/internal/cluster"
)

func TestAWarningOfTheServerIsLoggedOnce(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	var log bytes.Buffer
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(klog.ClearLogger)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "prefer another name"`)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`)
	}))
	defer server.Close()
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := client.Dynamic().Resource(configMaps).Namespace("ns").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(log.String(), "prefer another name"); got != 1 {
		t.Errorf("logged %d times:\n%s", got, log.String())
	}
}

// TestAWarningIsLoggedHoweverManyWereBefore: some name an object, and a process of months meets any number of them.
func TestAWarningIsLoggedHoweverManyWereBefore(t *testing.T) {
	var log bytes.Buffer
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(klog.ClearLogger)
	client, err := cluster.NewClient(&rest.Config{Host: "http://server"})
	if err != nil {
		t.Fatal(err)
	}
	said := client.Config().WarningHandler
	for i := range 1500 {
		said.HandleWarningHeader(299, "-", fmt.Sprintf("object %d has a deprecated field.", i))
	}
	if !strings.Contains(log.String(), "object 1499 has") {
		t.Error("the last warning is not logged")
	}
}
