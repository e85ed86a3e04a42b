package health_test

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestOnlyAJobThatHasSucceededExpires(t *testing.T) {
	job := func(ttl any, kind, status, at string) object.Object {
		return object.Object{
			"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"ttlSecondsAfterFinished": ttl},
			"status": map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status, "lastTransitionTime": at}}},
		}
	}
	const at = "2026-11-28T08:00:00Z"
	for name, c := range map[string]struct {
		o    object.Object
		want string
	}{
		"complete":             {job(int64(90), "Complete", "True", at), "2026-11-28T08:01:30Z"},
		"at once":              {job(int64(0), "Complete", "True", at), at},
		"failed":               {o: job(int64(90), "Failed", "True", at)},
		"not yet":              {o: job(int64(90), "Complete", "False", at)},
		"stays":                {o: job(nil, "Complete", "True", at)},
		"a time that is none":  {o: job(int64(90), "Complete", "True", "soon")},
		"a TTL that is none":   {o: job("90", "Complete", "True", at)},
		"a TTL below 0":        {o: job(int64(-1), "Complete", "True", at)},
		"a TTL beyond its API": {o: job(int64(1)<<40, "Complete", "True", at)},
		"nothing":              {},
		"another kind":         {o: object.Object{"apiVersion": "example.org/v1", "kind": "Job", "spec": job(int64(9), "", "", "")["spec"], "status": job(nil, "Complete", "True", at)["status"]}},
	} {
		got := ""
		if e := health.Expiry(c.o); !e.IsZero() {
			got = e.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
