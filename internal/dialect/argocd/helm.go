package argocd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// helmSource is Argo CD's ApplicationSourceHelm.
type helmSource struct {
	ValueFiles              []string            `json:"valueFiles,omitempty"`
	Parameters              []helmParameter     `json:"parameters,omitempty"`
	ReleaseName             string              `json:"releaseName,omitempty"`
	Values                  string              `json:"values,omitempty"`
	FileParameters          []helmFileParameter `json:"fileParameters,omitempty"`
	Version                 string              `json:"version,omitempty"`
	PassCredentials         bool                `json:"passCredentials,omitempty"`
	IgnoreMissingValueFiles bool                `json:"ignoreMissingValueFiles,omitempty"`
	SkipCrds                bool                `json:"skipCrds,omitempty"`
	SkipTests               bool                `json:"skipTests,omitempty"`
	SkipSchemaValidation    bool                `json:"skipSchemaValidation,omitempty"`
	ValuesObject            json.RawMessage     `json:"valuesObject,omitempty"`
	Namespace               string              `json:"namespace,omitempty"`
	KubeVersion             string              `json:"kubeVersion,omitempty"`
	APIVersions             []string            `json:"apiVersions,omitempty"`
}

type helmParameter struct {
	Name        string `json:"name,omitempty"`
	Value       string `json:"value,omitempty"`
	ForceString bool   `json:"forceString,omitempty"`
}

type helmFileParameter struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
}

// chart reads how the directory is rendered if it is a chart: as helm template does, with these values (reposerver/repository of argo-cd).
func (r *reading) chart(a *app.App, s sourceAt) {
	h, at := s.Helm, s.at
	if h == nil {
		h = &helmSource{}
	}
	at += ".helm"
	c := &release.Request{
		Use: release.MakeObjects, Release: cmp.Or(h.ReleaseName, a.Key.Name),
		Namespace:   cmp.Or(r.Namespace(at+".namespace", h.Namespace), a.DefaultNamespace.Name, "default"),
		KubeVersion: h.KubeVersion, APIVersions: h.APIVersions, CRDs: release.ReplaceCRDs, Hooks: release.ShowHooks,
	}
	if h.SkipCrds {
		c.CRDs = release.SkipCRDs
	}
	if h.SkipTests {
		c.Hooks = release.SkipTests
	}
	if h.SkipSchemaValidation {
		c.Schema = release.SkipValidation
	}
	if h.Version != "" && h.Version != "v3" {
		r.Problem(at+".version", "want v3, not %q", h.Version)
	}
	if h.PassCredentials && (s.Chart == "" || s.isInRegistry()) {
		r.Note("%s.passCredentials has no effect: it is for charts of a Helm repository", at)
	}
	v := chartValues{reading: r, at: at, root: cmp.Or(s.dir, "."), dir: a.Path, refs: s.refs, vars: variables{reading: r, app: a, source: s.applicationSource}}
	if s.Chart != "" {
		v.root = a.Path
	}
	c.Values = slices.Concat(v.files(h), v.inline(h), v.parameters(h), v.contents(h))
	a.Chart = c
}

// chartValues reads values, those that win last.
type chartValues struct {
	reading   *reading
	at        string
	root, dir string            // the directories that paths do not lead out of, and that they are relative to
	refs      map[string]string // the directories of the sources that values are read of, by their ref
	vars      variables
}

func (v chartValues) files(h *helmSource) []release.Values {
	var out []release.Values
	for i, name := range h.ValueFiles {
		at := fmt.Sprintf("%s.valueFiles[%d]", v.at, i)
		if file, ok := v.file(at, name); ok {
			out = append(out, release.Values{As: release.ValuesFile, File: file, Optional: h.IgnoreMissingValueFiles, From: at})
		}
	}
	return out
}

// file is the path of a file in the source, which one without a slash in front is relative to the chart.
func (v chartValues) file(at, name string) (file string, ok bool) {
	written := name
	if ref, rest, is := v.reference(name); is {
		v.root, v.dir, name = ref, ref, "/"+rest
	} else if ref := refForm.FindString(name); len(v.refs) > 0 && ref != "" && !strings.HasPrefix(name, "$ARGOCD_") {
		v.reading.Problem(at, "%q: want $REF/PATH, with the ref of one of spec.sources", name)
		return "", false
	}
	name = v.vars.expand(at, name)
	if u, err := url.Parse(name); err == nil && u.Scheme != "" {
		return v.remoteFile(at, name)
	}
	file = path.Join(v.dir, name)
	if rest, top := strings.CutPrefix(name, "/"); top {
		file = path.Join(v.root, rest)
	}
	inside := v.root == "." && file != ".." && !strings.HasPrefix(file, "../") || strings.HasPrefix(file, v.root+"/")
	if !inside || name == "" || strings.ContainsRune(name, 0) {
		v.reading.Problem(at, "%q is no path inside the repository", written)
		return "", false
	}
	return file, true
}

// remoteFile is where a tree holds a file of another server: with Argo CD's default of helm.valuesFileSchemes.
func (v chartValues) remoteFile(at, name string) (file string, ok bool) {
	a, err := upstream.ParseFile(name)
	if err != nil {
		v.reading.Problem(at, "values are read from the repository of the chart, or from https:// and http:// alone: %s", err)
		return "", false
	}
	return a.Name(), true
}

// reference reads a file of another source: $ref/path.
func (v chartValues) reference(name string) (dir, rest string, ok bool) {
	first, rest, below := strings.Cut(name, "/")
	dir, known := v.refs[strings.TrimPrefix(first, "$")]
	return dir, rest, below && known && strings.HasPrefix(first, "$")
}

// refForm is the beginning of a name of a file that looks as if it were of another source.
var refForm = regexp.MustCompile(`^\$[A-Za-z0-9_-]+`)

// inline are values and valuesObject, of which the second one wins.
func (v chartValues) inline(h *helmSource) []release.Values {
	if h.hasValuesObject() {
		return []release.Values{{Text: string(h.ValuesObject), From: v.at + ".valuesObject"}}
	}
	if h.Values == "" {
		return nil
	}
	return []release.Values{{Text: h.Values, From: v.at + ".values"}}
}

// parameters are those that are texts in any case behind the others; of two with one name the last one counts.
func (v chartValues) parameters(h *helmSource) []release.Values {
	var out []release.Values
	for _, as := range []release.As{release.Assignment, release.TextsOnly} {
		for i, p := range h.Parameters {
			at := fmt.Sprintf("%s.parameters[%d]", v.at, i)
			if (as == release.TextsOnly) != p.ForceString || slices.ContainsFunc(h.Parameters[i+1:], func(o helmParameter) bool {
				return o.Name == p.Name && o.ForceString == p.ForceString
			}) {
				continue
			}
			if p.Name == "" {
				v.reading.Problem(at+".name", "required")
			}
			out = append(out, release.Values{As: as, Text: p.Name + "=" + quoteCommas(v.vars.expand(at, p.Value)), From: at})
		}
	}
	return out
}

// quoteCommas has Helm take a value for one, unless it is a list (util/helm of argo-cd, cleanSetParameters).
func quoteCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	var before rune
	for _, c := range value {
		if c == ',' && before != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		before = c
	}
	return b.String()
}

func (v chartValues) contents(h *helmSource) []release.Values {
	var out []release.Values
	for i, p := range h.FileParameters {
		at := fmt.Sprintf("%s.fileParameters[%d]", v.at, i)
		if p.Name == "" {
			v.reading.Problem(at+".name", "required")
		}
		if file, ok := v.file(at+".path", p.Path); ok {
			out = append(out, release.Values{As: release.FileContent, Path: p.Name, File: file, From: at})
		}
	}
	return out
}
