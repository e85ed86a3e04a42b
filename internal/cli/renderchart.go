package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/release"
)

// chartFlags are those by which helm's users say how a chart is rendered.
type chartFlags struct {
	files, values, both, set, texts, contents []string // both are files and values, in the order of the command line
	release, namespace, kubeVersion           string
	apiVersions                               []string
	skipTests                                 bool
}

func (c *chartFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.VarP(orderedFiles{&c.files, &c.both}, "filename", "f", "file of manifests instead of a directory, - is the standard input; of a Helm chart, a file of values")
	flags.Var(orderedFiles{&c.values, &c.both}, "values", "file of values of a Helm chart; the last one wins")
	flags.StringArrayVar(&c.set, "set", nil, "values of a Helm chart, over those of files: image.tag=1.2,replicas=3")
	flags.StringArrayVar(&c.texts, "set-string", nil, "the same, of values that are texts")
	flags.StringArrayVar(&c.contents, "set-file", nil, "the same, of one value that is what a file holds: key=path")
	flags.StringVar(&c.release, "release-name", "", "name of the release, for the templates of a Helm chart")
	flags.StringVar(&c.namespace, "release-namespace", "", "namespace of the release, for the same")
	flags.StringVar(&c.kubeVersion, "kube-version", "", "version of Kubernetes, for the same")
	flags.StringArrayVar(&c.apiVersions, "api-versions", nil, "an API version that the cluster serves, for the same: example.org/v1/Thing")
	flags.BoolVar(&c.skipTests, "skip-tests", false, "leave out the tests of a Helm chart")
}

// orderedFiles is a flag that can be repeated. Those with the same all keep the order among them: to helm, -f and --values are one flag.
type orderedFiles struct{ own, all *[]string }

// Set adds a file.
func (o orderedFiles) Set(name string) error {
	*o.own, *o.all = append(*o.own, name), append(*o.all, name)
	return nil
}

// Type is that of pflag for a flag that can be repeated.
func (orderedFiles) Type() string { return "stringArray" }

// String is empty before a file is given.
func (o orderedFiles) String() string {
	if o.own == nil {
		return ""
	}
	return strings.Join(*o.own, ",")
}

// into puts the flags into the query: -f without a path is a file of manifests.
func (c *chartFlags) into(f *adhocFlags, args []string) error {
	if len(args) == 0 && len(c.files) > 0 {
		if len(c.files) > 1 {
			return usageError("%d files: name one with -f", len(c.files))
		}
		f.query.File, c.both = c.files[0], c.values
	}
	r := release.Request{Release: c.release, Namespace: c.namespace, KubeVersion: c.kubeVersion, APIVersions: c.apiVersions}
	if c.skipTests {
		r.Hooks = release.SkipTests
	}
	for _, name := range c.both {
		r.Values = append(r.Values, release.Values{As: release.ValuesFile, File: name})
	}
	for _, text := range c.set {
		r.Values = append(r.Values, release.Values{As: release.Assignment, Text: text, From: "--set"})
	}
	for _, text := range c.texts {
		r.Values = append(r.Values, release.Values{As: release.TextsOnly, Text: text, From: "--set-string"})
	}
	for _, text := range c.contents {
		key, file, found := strings.Cut(text, "=")
		if !found || key == "" || file == "" {
			return usageError("--set-file %s: want key=path", text)
		}
		r.Values = append(r.Values, release.Values{As: release.FileContent, Path: key, File: file, From: "--set-file"})
	}
	if f.query.Namespace = c.namespace; c.isSet(r) {
		if f.query.File != "" {
			return usageError("values are for a Helm chart, not for a file of manifests")
		}
		f.query.Chart = &r
	}
	return nil
}

// isSet reports whether anything is said for a chart.
func (c *chartFlags) isSet(r release.Request) bool {
	return len(r.Values)+len(r.APIVersions) > 0 || c.skipTests || r.Release+r.Namespace+r.KubeVersion != ""
}
