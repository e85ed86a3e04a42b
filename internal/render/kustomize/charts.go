package kustomize

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// chartsFile is where Kustomize finds, in the directory of a kustomization, the objects of the charts that the kustomization names.
const chartsFile = ".truce-helm-charts.yaml"

// errNoHelm is the error of a build in which charts are not asked for.
var errNoHelm = errors.New("charts inside a kustomization are switched off, as in a kustomize build without --enable-helm " +
	"(of Applications: kustomize.buildOptions in ConfigMap argocd-cm)")

// inflation renders the charts of kustomizations: what kustomize build --enable-helm has helm template do.
type inflation struct {
	ctx     context.Context
	request render.Request
	charts  render.Renderer
	// done are the objects of the charts of each kustomization, by its directory.
	done map[string]inflated
}

// inflated are the objects of the charts of one kustomization.
type inflated struct {
	file      string // the kustomization
	text      []byte
	documents []document
}

// chartFields are the fields of a kustomization about charts.
type chartFields struct {
	HelmCharts                  []types.HelmChart
	HelmGlobals                 *types.HelmGlobals
	HelmChartInflationGenerator []types.HelmChartArgs
}

// isChartField reports whether a field of a kustomization asks for charts.
func isChartField(name string) bool {
	return name == "helmCharts" || name == "helmChartInflationGenerator"
}

// readCharts decodes the charts of a kustomization, the deprecated form among them.
func readCharts(top *yaml.Node) (chartFields, error) {
	var out chartFields
	fields := map[string]any{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i].Value
		if !isChartField(key) && key != "helmGlobals" {
			continue
		}
		value, err := render.DecodeValue("", render.FollowAlias(top.Content[i+1]))
		if err != nil {
			return out, err
		}
		fields[key] = value
	}
	text, err := json.Marshal(fields)
	if err == nil {
		err = sigsyaml.UnmarshalStrict(text, &out)
	}
	older, globals := types.SplitHelmParameters(out.HelmChartInflationGenerator)
	if out.HelmGlobals == nil {
		out.HelmGlobals = &globals
	}
	out.HelmCharts = append(out.HelmCharts, older...)
	return out, err
}

// inflate renders the charts of a kustomization.
func (s *inputCheck) inflate(v visit, top *yaml.Node) error {
	at := slices.IndexFunc(top.Content, func(n *yaml.Node) bool { return isChartField(n.Value) })
	if at < 0 || s.inflation == nil {
		return nil // without an inflation it is refused where it stands
	}
	all, err := readCharts(top)
	if err != nil {
		return s.fail(v.file, top.Content[at], "%s: %w", top.Content[at].Value, withoutPlace(err))
	}
	out := inflated{file: v.file}
	var texts [][]byte
	for i, c := range all.HelmCharts {
		entry := chartEntry{HelmChart: c, home: cmp.Or(all.HelmGlobals.ChartHome, types.HelmDefaultHome), node: entryNode(top, at, i)}
		objects, err := s.chart(v, entry)
		if err != nil {
			return err
		}
		for _, o := range objects {
			text, err := out.add(o)
			if err != nil {
				return err
			}
			texts = append(texts, text)
		}
	}
	out.text = bytes.Join(texts, []byte("\n---\n"))
	if before, again := s.inflation.done[v.dir]; again && !bytes.Equal(before.text, out.text) {
		return s.fail(v.file, top.Content[at], "%s: this directory is built for several namespaces, and the charts give other objects in each: set their namespace", top.Content[at].Value)
	}
	s.inflation.done[v.dir] = out
	if len(texts) > 0 {
		file := path.Join(v.dir, chartsFile)
		s.files.over[file] = out.text
		s.manifests = append(s.manifests, file)
	}
	return nil
}

// entryNode is where an entry of a list of the kustomization stands.
func entryNode(top *yaml.Node, at, i int) *yaml.Node {
	if list := render.FollowAlias(top.Content[at+1]); i < len(list.Content) {
		return list.Content[i]
	}
	return top.Content[at]
}

// add takes an object of a chart, and returns its text for Kustomize, which gives no namespace to what bears this mark.
func (f *inflated) add(o render.Object) ([]byte, error) {
	if o.Data.IsGenerated() {
		return nil, &render.Error{File: o.File, Line: o.Line, Err: errGenerated}
	}
	f.documents = append(f.documents, document{kind: o.Data.GVK().Kind, name: o.Data.Name(), line: o.Line, file: o.File})
	meta := o.Data.Metadata()
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[konfig.HelmGeneratedAnnotation] = "true"
	text, err := json.Marshal(o.Data)
	if err != nil {
		return nil, &render.Error{File: o.File, Line: o.Line, Err: err}
	}
	return text, nil
}

// chartEntry is one chart of a kustomization.
type chartEntry struct {
	types.HelmChart
	home string // the directory of charts
	node *yaml.Node
}

// directory is where the chart is, from the kustomization.
func (c chartEntry) directory() string {
	if c.Version != "" && c.Repo != "" {
		return path.Join(c.home, c.Name+"-"+c.Version, c.Name)
	}
	return path.Join(c.home, c.Name)
}

// chart renders one chart.
func (s *inputCheck) chart(v visit, c chartEntry) ([]render.Object, error) {
	refuse := func(err error) ([]render.Object, error) {
		return nil, s.fail(v.file, c.node, "helmCharts: %s: %w", cmp.Or(c.Name, "a chart without a name"), err)
	}
	if err := c.check(); err != nil {
		return refuse(err)
	}
	dir, err := s.chartDirectory(v, c)
	if err != nil {
		return refuse(err)
	}
	request := s.inflation.request
	request.Path, request.Chart = dir, c.request(v, request.Inflate)
	if request.Chart.Values, err = s.chartValues(v, c, dir); err != nil {
		return refuse(err)
	}
	made, err := s.inflation.charts.Render(s.inflation.ctx, request)
	if err != nil {
		return refuse(err)
	}
	return made.Objects, nil
}

// check refuses what Kustomize, and helm template as Kustomize calls it, refuse.
func (c chartEntry) check() error {
	switch {
	case c.Name == "":
		return errors.New("chart name cannot be empty")
	case strings.HasPrefix(c.Name, "-"), strings.HasPrefix(c.ReleaseName, "-"):
		return errors.New("neither its name nor its releaseName may start with '-'")
	case c.ReleaseName != "" && c.NameTemplate != "":
		return errors.New("releaseName and nameTemplate exclude each other")
	}
	return nil
}

// chartDirectory returns where in the tree the chart is.
func (s *inputCheck) chartDirectory(v visit, c chartEntry) (string, error) {
	node := *c.node
	node.Kind, node.Value = yaml.ScalarNode, c.directory()
	if path.IsAbs(c.home) {
		node.Value = c.home // find says what is wrong with it
	}
	name, info, err := s.find(v, &node)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Repo == "":
		return "", fmt.Errorf("no repo specified for pull, no chart found at %s", path.Join(v.dir, c.directory()))
	case errors.Is(err, fs.ErrNotExist):
		return s.fetchedChart(c)
	case err != nil:
		return "", withoutPlace(err)
	case info == nil || !info.IsDir():
		return "", fmt.Errorf("%s is no directory", c.directory())
	}
	return name, nil
}

// fetchedChart returns where the tree holds a chart of a repository, if it holds any. Nothing is fetched here.
func (s *inputCheck) fetchedChart(c chartEntry) (string, error) {
	version := c.Version
	if c.Devel && version == "" {
		version = ">0.0.0-0" // as helm pull --devel
	}
	a, err := upstream.ParseChart(c.Repo, c.Name, version)
	if err != nil {
		return "", fmt.Errorf("repo: %w", err)
	}
	_, err = fs.Stat(s.files.tree, upstream.Directory)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("it is not in %s, and no chart is fetched here: commit it there", path.Dir(c.directory()))
	}
	if err == nil {
		_, err = fs.Stat(s.files.tree, a.Name())
	}
	return a.Name(), err
}

// request says how the chart is rendered; what the build says of the cluster wins.
func (c chartEntry) request(v visit, in *release.Request) *release.Request {
	out := &release.Request{
		Use: release.MakeObjects, Release: c.ReleaseName, NameTemplate: c.NameTemplate,
		Namespace:   cmp.Or(c.Namespace, v.namespace, "default"),
		APIVersions: c.ApiVersions, KubeVersion: cmp.Or(in.KubeVersion, c.KubeVersion),
		CRDs: release.SkipCRDs, Hooks: release.ShowHooks,
	}
	if out.Release == "" && out.NameTemplate == "" {
		out.Release = "release-name" // as helm template has it
	}
	if len(in.APIVersions) > 0 {
		out.APIVersions = in.APIVersions
	}
	if c.IncludeCRDs {
		out.CRDs = release.ReplaceCRDs
	}
	switch {
	case c.SkipHooks:
		out.Hooks = release.SkipHooks
	case c.SkipTests:
		out.Hooks = release.SkipTests
	}
	return out
}

// chartValues are the values of a chart: of one file, with those in place, and of more files over them.
func (s *inputCheck) chartValues(v visit, c chartEntry, dir string) ([]release.Values, error) {
	base, err := s.valuesFile(v, c, dir)
	if err != nil {
		return nil, err
	}
	if len(c.ValuesInline) > 0 {
		text, err := mergeInline(base.Text, c.HelmChart)
		if err != nil {
			return nil, err
		}
		base = release.Values{Text: text, From: "valuesInline of " + v.file}
	} else if err := isMergeOption(c.ValuesMerge); err != nil {
		return nil, err
	}
	out := []release.Values{base}
	for _, name := range c.AdditionalValuesFiles {
		more, err := s.valuesText(v, c.node, name)
		if err != nil {
			return nil, err
		}
		out = append(out, more)
	}
	return out, nil
}

// valuesFile are the values of valuesFile, or else of the chart itself, which may have none.
func (s *inputCheck) valuesFile(v visit, c chartEntry, dir string) (release.Values, error) {
	if c.ValuesFile != "" {
		return s.valuesText(v, c.node, c.ValuesFile)
	}
	name := path.Join(dir, "values.yaml")
	text, err := render.ReadFile(s.files.tree, name, s.files.limit)
	if errors.Is(err, fs.ErrNotExist) {
		return release.Values{From: name}, nil
	}
	return release.Values{Text: string(text), From: name}, err
}

func (s *inputCheck) valuesText(v visit, at *yaml.Node, file string) (release.Values, error) {
	node := *at
	node.Kind, node.Value = yaml.ScalarNode, file
	find := s.find
	if upstream.IsRemote(file) {
		find = s.remoteFile
	}
	name, info, err := find(v, &node)
	if err != nil {
		return release.Values{}, withoutPlace(err)
	}
	if info == nil || info.IsDir() {
		return release.Values{}, fmt.Errorf("values file %s is no file", file)
	}
	text, err := render.ReadFile(s.files.tree, name, s.files.limit)
	return release.Values{Text: string(text), From: name}, err
}

// takeCharts replaces the charts of a kustomization by their objects.
func (k *root) takeCharts(in *inflation, dir string) {
	if in == nil {
		return
	}
	for _, key := range []string{"helmCharts", "helmGlobals", "helmChartInflationGenerator"} {
		delete(k.fields, key)
	}
	if len(in.done[dir].text) > 0 {
		list, _ := k.fields["resources"].([]any)
		k.fields["resources"] = append(slices.Clone(list), "./"+chartsFile)
	}
}

// rootNamespace is the namespace of the charts of components that the request adds.
func (s *inputCheck) rootNamespace(b *build) string {
	if s.inflation == nil {
		return ""
	}
	own, _ := b.root.fields["namespace"].(string)
	return cmp.Or(b.request.Namespace, own)
}
