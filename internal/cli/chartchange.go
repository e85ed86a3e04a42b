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
	chart, release, namespace, version, kube string
	parameters, sets, texts, contents        []string
	files, versions                          []string
	literal                                  string
	credentials, missing                     bool
	skipCRDs, skipTests, noSchemas           bool
}

func (c *chartChangeFlags) add(s *pflag.FlagSet) {
	s.StringVar(&c.chart, "helm-chart", "", "name of a chart in a Helm repository")
	s.StringVar(&c.release, "release-name", "", "name of the chart's release")
	s.StringVar(&c.namespace, "helm-namespace", "", "namespace that the chart is rendered for")
	s.StringVar(&c.version, "helm-version", "", "version of Helm: v3, or nothing")
	s.StringVar(&c.kube, "helm-kube-version", "", "version of Kubernetes that the chart is rendered for")
	s.StringArrayVar(&c.versions, "helm-api-versions", nil, "a version of the API that the chart is rendered for, instead of the cluster's (repeatable)")
	s.StringArrayVarP(&c.parameters, "parameter", "p", nil, "the same as --helm-set")
	s.StringArrayVar(&c.sets, "helm-set", nil, "set a value of the chart: KEY=VALUE (repeatable)")
	s.StringArrayVar(&c.texts, "helm-set-string", nil, "set a value that is a text: KEY=VALUE (repeatable)")
	s.StringArrayVar(&c.contents, "helm-set-file", nil, "set a value to the content of a file of the source: KEY=PATH (repeatable)")
	s.StringArrayVar(&c.files, "values", nil, "a file of values in the source, instead of those before (repeatable)")
	s.StringVar(&c.literal, "values-literal-file", "", "a file on this machine whose content becomes the values")
	s.BoolVar(&c.credentials, "helm-pass-credentials", false, "send the credentials of a Helm repository to other servers, too")
	s.BoolVar(&c.missing, "ignore-missing-value-files", false, "leave out files of values that are not there")
	s.BoolVar(&c.skipCRDs, "helm-skip-crds", false, "leave out the chart's directory crds")
	s.BoolVar(&c.skipTests, "helm-skip-tests", false, "leave out the chart's tests")
	s.BoolVar(&c.noSchemas, "helm-skip-schema-validation", false, "do not compare the values with the chart's schema")
}

// change is what the flags ask for.
func (c *chartChangeFlags) change(s *pflag.FlagSet) (overlay.ChartChange, error) {
	out := overlay.ChartChange{
		Chart: changedFlag(s, "helm-chart", c.chart), Release: changedFlag(s, "release-name", c.release), Namespace: changedFlag(s, "helm-namespace", c.namespace),
		Version: changedFlag(s, "helm-version", c.version), KubeVersion: changedFlag(s, "helm-kube-version", c.kube),
		ValueFiles: c.files, APIVersions: c.versions,
		PassCredentials: changedFlag(s, "helm-pass-credentials", c.credentials), MissingFiles: changedFlag(s, "ignore-missing-value-files", c.missing),
		SkipCRDs: changedFlag(s, "helm-skip-crds", c.skipCRDs), SkipTests: changedFlag(s, "helm-skip-tests", c.skipTests),
		NoSchemas: changedFlag(s, "helm-skip-schema-validation", c.noSchemas),
	}
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

// filesFlags are those of argocd about directories of plain manifests.
type filesFlags struct {
	recurse          bool
	include, exclude string
}

func (f *filesFlags) add(s *pflag.FlagSet) {
	s.BoolVar(&f.recurse, "directory-recurse", false, "read the directories below the directory, too")
	s.StringVar(&f.include, "directory-include", "", "a glob of the only files that are read")
	s.StringVar(&f.exclude, "directory-exclude", "", "a glob of files that are left out")
}

// change is what the flags ask for.
func (f *filesFlags) change(s *pflag.FlagSet) overlay.FilesChange {
	return overlay.FilesChange{
		Recurse: changedFlag(s, "directory-recurse", f.recurse), Include: changedFlag(s, "directory-include", f.include), Exclude: changedFlag(s, "directory-exclude", f.exclude),
	}
}
