package helm

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
)

// objects are those of the manifests, each with the template that it is from, and the chart's CustomResourceDefinitions.
func (b *build) objects(out output) ([]render.Object, error) {
	all, err := b.definitions(out.crds)
	if err != nil {
		return nil, err
	}
	places := places{build: b, texts: map[string][]byte{}, seen: map[string]int{}}
	for _, m := range slices.Concat(out.manifests, b.shownHooks(out.hooks)) {
		file, line := places.of(m)
		found, err := b.decode(file, m.Content)
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].Line = line
		}
		all = append(all, found...)
		if len(all) > b.request.Limits.Objects {
			return nil, fmt.Errorf("more than %d objects: %w", b.request.Limits.Objects, render.ErrLimit)
		}
	}
	return all, nil
}

// shownHooks are the hooks that are objects like others, behind these.
func (b *build) shownHooks(hooks []*releasev1.Hook) []releaseutil.Manifest {
	how := b.request.Chart.Hooks
	if how != release.ShowHooks && how != release.SkipTests {
		return nil
	}
	var out []releaseutil.Manifest
	for _, h := range hooks {
		if how == release.SkipTests && slices.Contains(h.Events, releasev1.HookTest) {
			continue
		}
		out = append(out, releaseutil.Manifest{Name: h.Path, Content: h.Manifest, Head: &releaseutil.SimpleHead{Kind: h.Kind}})
	}
	return out
}

// decode reads a manifest. Flux's helm-controller has Kustomize label each one, which reads a plain yes as a string and not as a boolean.
func (b *build) decode(file, text string) ([]render.Object, error) {
	if b.request.Chart.Use != release.MakeObjects {
		if found, err := render.Manifests(file, asPrinted(text)); err == nil {
			return found, nil
		}
	}
	return decodeManifest(file, text)
}

// asPrinted is a manifest as Helm prints it, with the end of a line behind it: that is a part of a text (|) which the manifest ends with.
func asPrinted(text string) []byte { return []byte(text + "\n") }

// decodeManifest reads a manifest as Helm does, for which the last of two equal keys counts.
func decodeManifest(file, text string) ([]render.Object, error) {
	data, err := yaml.YAMLToJSON(asPrinted(text))
	if err != nil {
		return nil, &render.Error{File: file, Err: fmt.Errorf("what the template gives is no YAML: %w", err)}
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil, nil
	}
	return render.Manifests(file, data)
}

// The annotations of definitions that stay as they are, and of those that are never deleted.
const (
	createOnly = "kustomize.toolkit.fluxcd.io/ssa"
	policyKey  = "helm.sh/resource-policy"
)

// definitionsPolicy says what becomes of the directory crds in an action.
func (b *build) definitionsPolicy(options common.ReleaseOptions) release.CRDs {
	if options.IsUpgrade {
		return b.request.Chart.UpgradeCRDs
	}
	return b.request.Chart.CRDs
}

// definitions are the objects of the directories crds of the chart and its dependencies. As in Helm they are no part of the release, and are
// never deleted.
func (b *build) definitions(policy release.CRDs) ([]render.Object, error) {
	if policy == release.SkipCRDs {
		return nil, nil
	}
	used, err := b.usedDefinitions()
	if err != nil {
		return nil, err
	}
	var all []render.Object
	for _, crd := range b.chart.CRDObjects() {
		if !used[string(crd.File.Data)] {
			continue
		}
		for _, doc := range splitManifests(string(crd.File.Data)) {
			found, err := b.definition(policy, b.file(crd.Filename), doc)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// splitManifests are the documents of a file, in its order. Helm gives them by names that end with their numbers.
func splitManifests(text string) []string {
	split := releaseutil.SplitManifests(text)
	var out []string
	for _, name := range slices.SortedFunc(maps.Keys(split), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }) { // manifest-9, manifest-10
		out = append(out, split[name])
	}
	return out
}

// usedDefinitions are the files of the directories crds, by their text, without those of dependencies that the values leave out.
func (b *build) usedDefinitions() (map[string]bool, error) {
	chart := b.chart
	if b.request.Chart.Mode != release.Replay { // a stored chart has no dependencies
		var err error
		if chart, err = b.processedChart(); err != nil {
			return nil, err
		}
	}
	out := map[string]bool{}
	for _, crd := range chart.CRDObjects() {
		out[string(crd.File.Data)] = true
	}
	return out, nil
}

func (b *build) definition(policy release.CRDs, file, doc string) ([]render.Object, error) {
	found, err := decodeManifest(file, doc)
	for i, o := range found {
		found[i].Definition, found[i].Line = true, 1
		if b.request.Chart.Use == release.MakeObjects {
			continue
		}
		annotate(o.Data, policyKey, "keep")
		if policy == release.CreateCRDs {
			annotate(o.Data, createOnly, "IfNotPresent")
		}
	}
	return found, err
}

func annotate(o object.Object, key, value string) {
	meta := o.Metadata()
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[key] = value
}

// file is the file in the tree of what Helm calls chart/templates/file.
func (b *build) file(name string) string {
	return path.Join(b.request.Path, strings.TrimPrefix(name, b.chart.Name()+"/"))
}

// places finds the lines of templates that objects are made of.
type places struct {
	build *build
	texts map[string][]byte
	seen  map[string]int // by template and kind: how many objects
}

// of is the file of a manifest, and the line of the template with its kind: the first of several where they cannot be distinguished.
func (p places) of(m releaseutil.Manifest) (file string, line int) {
	file = p.build.file(m.Name)
	text, known := p.texts[file]
	if !known {
		text = templateText(p.build.chart, m.Name)
		p.texts[file] = text
	}
	if m.Head == nil {
		return file, 1
	}
	key := file + " " + m.Head.Kind
	p.seen[key]++
	return file, lineOfKind(text, m.Head.Kind, p.seen[key])
}

// templateText is the text of a template of a chart or one of its dependencies; nil where there is no such.
func templateText(chart *chartv2.Chart, name string) []byte {
	rest, below := strings.CutPrefix(name, chart.ChartFullPath()+"/")
	if !below {
		return nil
	}
	for _, t := range chart.Templates {
		if t.Name == rest {
			return t.Data
		}
	}
	for _, d := range chart.Dependencies() {
		if text := templateText(d, name); text != nil {
			return text
		}
	}
	return nil
}

// lineOfKind is the line at which the n-th document of a kind begins, or the last one of them.
func lineOfKind(text []byte, kind string, n int) int {
	found, start, number := 1, 1, 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "---"):
			start = number + 1
		case strings.HasPrefix(line, "apiVersion:"):
			start = number
		case line == "kind: "+kind && n > 0:
			found = start
			n--
		}
	}
	return found
}
