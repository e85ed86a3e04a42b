package helm

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/lookup"
	"github.com/truce-gitops/truce/internal/render/substitute"
)

// longestKnown is the longest value of a Secret that is looked for in messages: a larger one is data, which no message repeats.
const longestKnown = 64 << 10

// lastApplied is the annotation in which kubectl apply keeps all that it has sent.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// lookups are what the templates of one render ask the cluster, with the answers: a question is asked once, however often the templates run.
type lookups struct {
	reader  lookup.Reader // nil: nothing is there
	view    lookupView
	answers map[lookup.Question]lookupAnswer
	secrets []string // that Secrets among the answers hold, and the values that are kept of a former release
	failed  bool     // the newest run of the templates had a question that is not answered
}

type lookupAnswer struct {
	found map[string]any
	err   error
}

// lookupView says what templates get as an answer.
type lookupView string

const (
	viewCluster   lookupView = ""          // what is in the cluster
	viewDisguised lookupView = "disguised" // the same, with other values in the place of a Secret's
	viewKnown     lookupView = "known"     // what was asked before; nothing else is there
)

func newLookups(r render.Request) *lookups {
	l := &lookups{answers: map[lookup.Question]lookupAnswer{}}
	if r.Chart.Use == release.MakeRelease { // objects alone are made without a cluster, as by helm template
		l.reader = r.Lookup
	}
	return l
}

// isAsked reports whether the cluster was asked for anything.
func (l *lookups) isAsked() bool { return len(l.answers) > 0 }

// within is the function lookup of the templates of one run.
func (l *lookups) within(ctx context.Context) func(apiVersion, kind, namespace, name string) (map[string]any, error) {
	l.failed = false
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		q := lookup.Question{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
		a := l.answer(ctx, q)
		if a.err != nil {
			l.failed = true
			return nil, fmt.Errorf("lookup of %s: %w", q, a.err)
		}
		found := cloneValues(a.found) // templates may change it
		if l.view == viewDisguised {
			eachSecret(found, func(s map[string]any) { disguiseSecret(s) })
		}
		return found, nil
	}
}

func (l *lookups) answer(ctx context.Context, q lookup.Question) lookupAnswer {
	a, known := l.answers[q]
	if known || l.reader == nil || l.view == viewKnown {
		return a
	}
	if a.found, a.err = l.reader.Lookup(ctx, q); a.err == nil {
		eachSecret(a.found, func(s map[string]any) { l.secrets = append(l.secrets, secretsIn(s)...) })
	}
	l.answers[q] = a
	return a
}

// eachSecret calls f with each Secret of an answer.
func eachSecret(found map[string]any, f func(map[string]any)) {
	all, isList := found["items"].([]any)
	if !isList {
		all = []any{found}
	}
	for _, e := range all {
		o, _ := e.(map[string]any)
		if gvk := object.Object(o).GVK(); gvk.Kind == "Secret" && gvk.Group == "" {
			f(o)
		}
	}
}

// secretsIn are the values in a Secret.
func secretsIn(s map[string]any) []string {
	var out []string
	data, _ := s["data"].(map[string]any)
	for _, v := range data {
		text, _ := v.(string)
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			text = string(plain)
		}
		if text != "" && len(text) <= longestKnown {
			out = append(out, text)
		}
	}
	return out
}

// disguiseSecret puts other values in the place of a Secret's.
func disguiseSecret(s map[string]any) {
	data, _ := s["data"].(map[string]any)
	for k, v := range data {
		text, _ := v.(string)
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			data[k] = base64.StdEncoding.EncodeToString([]byte(substitute.Disguise(string(plain))))
			continue
		}
		data[k] = substitute.Disguise(text)
	}
	meta, _ := s["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if text, there := annotations[lastApplied].(string); there {
		annotations[lastApplied] = substitute.Disguise(text)
	}
}

// mayAskCluster reports whether a chart or one of its dependencies has the word lookup: in a template, or in what a template may run as one.
func mayAskCluster(chart *chartv2.Chart) bool {
	for _, files := range [][]*common.File{chart.Templates, chart.Files} {
		if slices.ContainsFunc(files, func(f *common.File) bool { return bytes.Contains(f.Data, []byte("lookup")) }) {
			return true
		}
	}
	return hasLookup(chart.Values) || slices.ContainsFunc(chart.Dependencies(), mayAskCluster)
}

// hasLookup reports whether values have the word lookup.
func hasLookup(values map[string]any) bool {
	return slices.ContainsFunc(textsIn(values), func(text string) bool { return strings.Contains(text, "lookup") })
}
