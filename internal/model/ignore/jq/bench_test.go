package jq_test

import (
	"encoding/json"
	"testing"
)

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

func BenchmarkSelect(b *testing.B) {
	e := newEvaluator(b)
	git := load(b, deployment)
	queries := []string{`.spec.template.spec.containers[] | select(.name == "log") | .image`}
	for b.Loop() {
		if _, err := e.Select(b.Context(), queries, git, git); err != nil {
			b.Fatal(err)
		}
	}
}
