package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/overlay"
)

// inSource is a source whose directory may hold files that say more about how it is rendered (reposerver/repository of argo-cd): .argocd-source.yaml for
// all Applications that read it, and .argocd-source-NAME.yaml for one. Each is a merge patch (RFC 7386) of the source.
type inSource struct{ sourceAt }

// longestOverride bounds such a file.
const longestOverride = 1 << 20

// Over returns the app with what the files say laid over it (app.App.InSource).
func (o inSource) Over(a app.App, files fs.FS) app.App {
	merged, from, err := o.merged(a, files)
	switch {
	case err != nil:
		a.Misread = fmt.Errorf("read %s: %w", from, err)
		return a
	case from == "":
		return a
	}
	r := &reading{}
	s := o.at(a.Path)
	s.at = from + ":"
	var read applicationSource
	r.Fields(s.at, merged, &read)
	read.RepoURL, read.Path, read.TargetRevision, read.Chart, read.Ref, read.Name = o.RepoURL, s.Path, o.TargetRevision, o.Chart, o.Ref, o.Name
	s.applicationSource = read
	a.Namespace, a.Manifests, a.Overlay = "", app.Manifests{}, overlay.Overlay{}
	r.describe(&a, s)
	for _, p := range r.Problems {
		a.Misread = errors.Join(a.Misread, errors.New(p.String()))
	}
	return a
}

// at is the source at the path at which it is read: not that of the Application where local files are looked at. The files of several sources may be in
// one tree by their own names.
func (o inSource) at(dir string) sourceAt {
	s := o.sourceAt
	below, own := strings.CutPrefix(dir, s.dir+"/")
	switch {
	case s.dir == "":
	case own:
		dir = below
	case dir == s.dir:
		dir = "."
	default:
		s.dir, s.refs = "", maps.Clone(s.refs)
		for ref := range s.refs {
			s.refs[ref] = "."
		}
	}
	s.Path = dir
	return s
}

// merged is the source with what the files say, and the last one of them that says something.
func (o inSource) merged(a app.App, files fs.FS) (source map[string]any, from string, err error) {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + a.Key.Name + ".yaml"} {
		name = path.Join(a.Path, name)
		patch, err := readOverride(files, name)
		switch {
		case err != nil:
			return nil, name, err
		case len(patch) == 0:
			continue
		case source == nil:
			if source, err = o.written(); err != nil {
				return nil, name, err
			}
		}
		source, from = mergePatch(source, patch), name
	}
	return source, from, nil
}

// written is the source as the Application has it.
func (o inSource) written() (out map[string]any, err error) {
	text, err := json.Marshal(o.applicationSource)
	if err == nil {
		err = decodeNumbers(text, &out)
	}
	return out, err
}

// readOverride reads a file; one that is not there, or a directory, says nothing.
func readOverride(files fs.FS, name string) (out map[string]any, err error) {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, longestOverride+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > longestOverride:
		return nil, fmt.Errorf("it has more than %d bytes", longestOverride)
	}
	switch text, err = yaml.YAMLToJSON(text); {
	case err != nil || string(text) == "null":
		return nil, err
	case !strings.HasPrefix(string(text), "{"):
		return nil, errors.New("want a map with fields of a source")
	}
	return out, decodeNumbers(text, &out)
}

// mergePatch lays a merge patch over an object: maps are merged, null takes a field away, and any other value takes its place.
func mergePatch(object, patch map[string]any) map[string]any {
	out := maps.Clone(object)
	for key, value := range patch {
		next, isMap := value.(map[string]any)
		switch below, _ := out[key].(map[string]any); {
		case value == nil:
			delete(out, key)
		case isMap && below == nil:
			out[key] = mergePatch(map[string]any{}, next)
		case isMap:
			out[key] = mergePatch(below, next)
		default:
			out[key] = value
		}
	}
	return out
}
