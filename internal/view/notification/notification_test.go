package notification_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/view/notification"
)

// TestSamplesLeaveNoAlertOpen keeps the alerts as Alertmanager does, which knows one by its labels: what opens one of errors is closed by a later sample.
func TestSamplesLeaveNoAlertOpen(t *testing.T) {
	p := deliver.Loaded{Provider: route.Provider{Key: route.Key{Namespace: "shop", Name: "am"}, Type: "alertmanager", Address: "http://alertmanager.example/api/v2/alerts"}}
	samples, err := notification.Samples(p, notification.Choice{}, time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]string{}
	for _, s := range samples {
		var alerts []struct {
			Labels map[string]string
			EndsAt string
		}
		if err := json.Unmarshal(s.Request.Body, &alerts); err != nil || s.Err != nil {
			t.Fatal(err, s.Err)
		}
		for _, a := range alerts {
			ends[fmt.Sprint(a.Labels)] = a.EndsAt
			if a.Labels["severity"] != "error" {
				delete(ends, fmt.Sprint(a.Labels))
			}
		}
	}
	for labels, end := range ends {
		if end > "2026-11-28T13" {
			t.Errorf("open until %s: %s", end, labels)
		}
	}
	if len(ends) < 5 {
		t.Errorf("%d alerts of errors", len(ends))
	}
}
