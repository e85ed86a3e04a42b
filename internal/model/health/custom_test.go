package health_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func parsed(t *testing.T, text string) cel.Expression {
	t.Helper()
	e, err := cel.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAUsersRulesDecideTheHealth(t *testing.T) {
	rules := health.Custom{
		Group: "bitnami.com", Kind: "SealedSecret",
		InProgress: parsed(t, `has(status.phase) && status.phase == 'Busy'`),
		Failed:     parsed(t, `status.conditions.exists(e, e.type == 'Synced' && e.status == 'False')`),
		Current:    parsed(t, `status.conditions.exists(e, e.type == 'Synced' && e.status == 'True')`),
	}
	for status, want := range map[string]string{
		`{phase: Busy, conditions: [{type: Synced, status: "False"}]}`:          "Progressing healthCheckExprs: inProgress is true: has(",
		`{conditions: [{type: Synced, status: "False"}]}`:                       "Degraded healthCheckExprs: failed is true: status.conditions",
		`{conditions: [{type: Synced, status: "True"}]}`:                        "Healthy ",
		`{conditions: [{type: Synced, status: Unknown}]}`:                       "Progressing healthCheckExprs: current is not true: ",
		`{observedGeneration: 1, conditions: [{type: Synced, status: "True"}]}`: "Progressing its status is about generation 1 of 2",
		`{observedGeneration: 2, conditions: [{type: Synced, status: "True"}]}`: "Healthy ",
		`{}`: "Unknown healthCheckExprs: failed cannot be evaluated: no such key: conditions",
	} {
		o := given.Object(t, `{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: s, generation: 2}, status: `+status+`}`)
		if s := rules.Assess(o); !strings.HasPrefix(string(s.Code)+" "+s.Message, want) || s.Code == health.Healthy && s.Message != "" {
			t.Errorf("%s: %s %s, want %s", status, s.Code, s.Message, want)
		}
	}
	if o := given.Object(t, `{metadata: {deletionTimestamp: now}, status: {conditions: [{type: Synced, status: "True"}]}}`); rules.Assess(o).Code != health.Progressing {
		t.Error("an object that terminates is Healthy")
	}
}

func TestRulesAreThoseOfTheKind(t *testing.T) {
	all := []health.Custom{{Group: "c"}, {Group: "a", Kind: "A"}, {Kind: "A"}, {Group: "c", Kind: "A"}}
	for id, want := range map[object.ID]*health.Custom{
		{Group: "a", Kind: "A"}: &all[1], {Kind: "A"}: &all[2], {Group: "b", Kind: "A"}: nil, {Group: "a", Kind: "B"}: nil,
		{Group: "c", Kind: "A"}: &all[3], {Group: "c", Kind: "B"}: &all[0], {Kind: "B"}: nil,
	} {
		if got := health.FindCustom(all, id); got != want {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
}
