package cel_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const ready = `{metadata: {generation: 2, labels: {v: "1.2"}}, status: {observedGeneration: 2, ratio: 2.0, conditions: [{type: Ready, status: "True"}]}}`

func TestAnExpressionIsTrueOfObjects(t *testing.T) {
	for text, want := range map[string]string{
		`dep.metadata.labels['v'] == self.metadata.labels['v'] && dep.status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')`: "true",
		`dep.metadata.generation == dep.status.observedGeneration`:                                                                               "true",
		`dep.status.ratio == 2`:                        "true", // numbers of two types
		`has(dep.spec)`:                                "false",
		`dep.?status.?phase.orValue('none') == 'none'`: "true",
		`dep.metadata.labels['v'].startsWith('1.') && 'a,b'.split(',').size() == 2`: "true",
		`sets.contains(['a', 'b'], [dep.metadata.labels['v']])`:                     "false",
		`base64.decode('MS4y') == bytes(dep.metadata.labels['v'])`:                  "true",
		`dep.status.phase == 'Done'`:                                                "no such key: phase",
		`dep.status.observedGeneration`:                                             "neither true nor false, but of the type int",
		`dep.status.conditions.map(a, dep.status.conditions.map(b, 1 / 0)) == []`:   "division by zero",
		`dep.metadata.labels['v'].matches('(')`:                                     "error parsing regexp",
		`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))`: "cost limit exceeded",
	} {
		e, err := cel.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		o := map[string]any(given.Object(t, ready))
		is, err := e.IsTrue(map[string]any{cel.Self: o, cel.Dep: o})
		got := fmt.Sprint(is)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestWhatIsNoExpressionIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "empty",
		`dep.status.`:              "line 1:12: Syntax error",
		`dep.status.conditions[0`:  "Syntax error",
		`other.status == 'a'`:      "undeclared reference to 'other'",
		`'a' + 'b'`:                "this is of the type string",
		`dep.status.foo('a')`:      "undeclared reference to 'foo'",
		strings.Repeat("a", 20000): "has 20000 bytes",
		strings.Repeat("(", 9000):  "",
	} {
		_, err := cel.Compile(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
}

func TestAnExpressionOverFieldsNeedsNoneOfThemBefore(t *testing.T) {
	e, err := cel.Parse(`status.conditions.exists(c, c.type == 'Ready' && c.status == 'True') && spec.x == 1`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.IsTrue(given.Object(t, ready)); err == nil || !strings.Contains(err.Error(), "spec") {
		t.Errorf("without spec: %v", err)
	}
	if is, err := e.IsTrue(given.Object(t, strings.Replace(ready, "{metadata", "{spec: {x: 1}, metadata", 1))); err != nil || !is {
		t.Errorf("with spec: %v, %v", is, err)
	}
	if _, err := (cel.Expression{}).IsTrue(nil); err == nil {
		t.Error("no expression is true")
	}
}

// FuzzExpression: neither what is read nor what it is asked about makes it panic, or changes what it is given.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		`dep.metadata.labels['v'] == self.metadata.labels['v']`, `status.conditions.filter(e, e.type == 'Synced').all(e, e.status == 'True')`,
		`has(status.x) ? status.x : false`, `"a".format([1])`, `[1].map(x, x / 0)`, `dep.?a[?0].orValue(true)`, `duration('1h') > duration(status.a)`,
	} {
		f.Add(text, ready)
	}
	f.Fuzz(func(t *testing.T, text, object string) {
		var o map[string]any
		if json.Unmarshal([]byte(object), &o) != nil && yaml.Unmarshal([]byte(object), &o) != nil {
			return
		}
		before := fmt.Sprint(o)
		if e, err := cel.Compile(text); err == nil {
			_, _ = e.IsTrue(map[string]any{cel.Self: o, cel.Dep: o})
		}
		if e, err := cel.Parse(text); err == nil {
			_, _ = e.IsTrue(o)
		}
		if after := fmt.Sprint(o); after != before {
			t.Errorf("%s has changed %s to %s", text, before, after)
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := cel.Compile(`dep.metadata.labels['v'] == self.metadata.labels['v'] && dep.metadata.generation == dep.status.observedGeneration`); err != nil {
			b.Fatal(err)
		}
	}
}
