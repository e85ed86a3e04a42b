package controller

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/report/notify"
)

// TestEventsThatFindNoRoomAreToldOnce: a first sync of hundreds of Applications brings more events than wait for the server.
func TestEventsThatFindNoRoomAreToldOnce(t *testing.T) {
	var log bytes.Buffer
	c := &Controller{events: make(chan *unstructured.Unstructured, 2)}
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	for range 5 {
		c.enqueueEvent(notify.Message{}, "")
	}
	c.reportDroppedEvents()
	if log.Len() > 0 {
		t.Errorf("told while there are still many: %s", &log)
	}
	for range 2 {
		<-c.events
		c.reportDroppedEvents()
	}
	c.reportDroppedEvents()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "too many at once") || !strings.Contains(got, "count=3") {
		t.Errorf("told: %q", got)
	}
}
