package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// chartChangeFlags are those of `argocd app set` and `argocd app create` about Helm (setHelmOpt in cmd/util/app.go of argo-cd).
type chartChangeFlags struct {
	wanted                            overlay.ChartChange
	parameters, sets, texts, contents []string
	literal                           string
}

func (c *chartChangeFlags) add(s *pflag.FlagSet) {
	optionalFlag(s, &c.wanted.Chart, "helm-chart", "name of a chart in a Helm repository")
	optionalFlag(s, &c.wanted.Release, "release-name", "name of the chart's release")
	optionalFlag(s, &c.wanted.Namespace, "helm-namespace", "namespace that the chart is rendered for")
	optionalFlag(s, &c.wanted.Version, "helm-version", "version of Helm: v3, or nothing")
	optionalFlag(s, &c.wanted.KubeVersion, "helm-kube-version", "version of Kubernetes that the chart is rendered for")
	s.StringArrayVar(&c.wanted.APIVersions, "helm-api-versions", nil, "a version of the API that the chart is rendered for, instead of the cluster's (repeatable)")
	s.StringArrayVarP(&c.parameters, "parameter", "p", nil, "the same as --helm-set")
	s.StringArrayVar(&c.sets, "helm-set", nil, "set a value of the chart: KEY=VALUE (repeatable)")
	s.StringArrayVar(&c.texts, "helm-set-string", nil, "set a value that is a text: KEY=VALUE (repeatable)")
	s.StringArrayVar(&c.contents, "helm-set-file", nil, "set a value to the content of a file of the source: KEY=PATH (repeatable)")
	s.StringArrayVar(&c.wanted.ValueFiles, "values", nil, "a file of values in the source, instead of those before (repeatable)")
	s.StringVar(&c.literal, "values-literal-file", "", "a file on this machine whose content becomes the values")
	optionalFlag(s, &c.wanted.PassCredentials, "helm-pass-credentials", "send the credentials of a Helm repository to other servers, too")
	optionalFlag(s, &c.wanted.MissingFiles, "ignore-missing-value-files", "leave out files of values that are not there")
	optionalFlag(s, &c.wanted.SkipCRDs, "helm-skip-crds", "leave out the chart's directory crds")
	optionalFlag(s, &c.wanted.SkipTests, "helm-skip-tests", "leave out the chart's tests")
	optionalFlag(s, &c.wanted.NoSchemas, "helm-skip-schema-validation", "do not compare the values with the chart's schema")
}

// change is what the flags ask for.
func (c *chartChangeFlags) change() (overlay.ChartChange, error) {
	out := c.wanted
	for _, of := range []struct {
		flag  string
		texts []string
		form  overlay.Parameter
	}{
		{"--parameter", c.parameters, overlay.Parameter{}}, {"--helm-set", c.sets, overlay.Parameter{}},
		{"--helm-set-string", c.texts, overlay.Parameter{Text: true}}, {"--helm-set-file", c.contents, overlay.Parameter{File: true}},
	} {
		for _, text := range of.texts {
			p, ok := of.form, false
			if p.Name, p.Value, ok = strings.Cut(text, "="); !ok || p.Name == "" {
				return out, usageError("%s %q: want KEY=VALUE", of.flag, text)
			}
			out.Parameters = append(out.Parameters, p)
		}
	}
	if c.literal != "" {
		content, err := os.ReadFile(c.literal)
		if err != nil {
			return out, usageError("--values-literal-file: %v", err)
		}
		text := string(content)
		out.Values = &text
	}
	return out, nil
}

// sourceFlags say which of an Application's sources is meant, as argocd's do.
type sourceFlags struct {
	position int
	name     string
}

func (f *sourceFlags) add(s *pflag.FlagSet) {
	s.IntVar(&f.position, "source-position", 0, "place of the source in spec.sources, counted from 1")
	s.StringVar(&f.name, "source-name", "", "name of the source in spec.sources")
}

// choice is the source that is meant; empty for the only one.
func (f *sourceFlags) choice(s *pflag.FlagSet) (string, error) {
	switch {
	case s.Changed("source-position") && f.name != "":
		return "", usageError("name a source by --source-position or by --source-name, not by both")
	case s.Changed("source-position") && f.position < 1:
		return "", usageError("--source-position %d: sources are counted from 1", f.position)
	case s.Changed("source-position"):
		return strconv.Itoa(f.position), nil
	}
	return f.name, nil
}
