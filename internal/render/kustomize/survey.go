package kustomize

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/yamltext"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// maxChain bounds how deep kustomizations may build on each other; a link that leads to itself ends here.
const maxChain = 64

// inputCheck walks the kustomization files of a build before Kustomize does, to refuse with a line what Kustomize would refuse
// with a riddle, and what it must never try: to fetch a remote base, plug-ins, paths that leave the source, cycles.
type inputCheck struct {
	files files
	root  string // the kustomization file that is built
	// seen are directories already walked: bases are shared.
	seen map[string]bool
	// moved are the entries that name repositories, by the directory of their kustomization.
	moved map[string]moved
	// inflation renders charts; nil refuses them.
	inflation *inflation
	// openapi is set when a kustomization brings a schema, which Kustomize keeps for the whole process.
	openapi bool
	// manifests are the files whose objects are built.
	manifests []string
}

func (s *inputCheck) fail(file string, n *yaml.Node, format string, args ...any) error {
	return &render.Error{File: file, Line: n.Line, Err: fmt.Errorf(format, args...)}
}

// walk checks the kustomization of a directory and everything that it names, on the way from another one.
func (s *inputCheck) walk(dir string, from visit) error {
	if s.seen[from.namespace+" "+dir] {
		return nil
	}
	file, top, err := s.open(dir)
	if err != nil {
		return err
	}
	v := visit{file, dir, append(slices.Clone(from.chain), dir), s.namespaceOf(top, dir, from)}
	for i := 0; top.Kind == yaml.MappingNode && i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], render.FollowAlias(top.Content[i+1])
		if err := s.field(v, key, value); err != nil {
			return err
		}
	}
	s.seen[from.namespace+" "+dir] = true
	return s.inflate(v, top)
}

// visit is where the survey stands.
type visit struct {
	file, dir string
	chain     []string // the directories that led here
	namespace string   // of charts that name none; empty where none are rendered
}

// namespaceOf is the namespace of a kustomization's charts: its own, or that of the ones that led to it.
func (s *inputCheck) namespaceOf(top *yaml.Node, dir string, from visit) string {
	if s.inflation == nil {
		return ""
	}
	if dir == path.Dir(s.root) && s.inflation.request.Namespace != "" {
		return s.inflation.request.Namespace
	}
	return cmp.Or(scalarText(render.FieldNode(top, "namespace")), from.namespace)
}

// open reads the kustomization file of a directory.
func (s *inputCheck) open(dir string) (string, *yaml.Node, error) {
	file, err := s.kustomizationFile(dir)
	if err != nil {
		return "", nil, err
	}
	data, err := s.files.ReadFile(mountPath(file))
	if err != nil {
		return "", nil, &render.Error{File: file, Err: yamlErrorText(err)}
	}
	nodes, err := render.ParseNodes(file, data)
	if err != nil {
		return "", nil, err
	}
	if len(nodes) != 1 {
		return "", nil, &render.Error{File: file, Err: fmt.Errorf("%d documents, want one", len(nodes))}
	}
	if _, err := render.DecodeValue(file, nodes[0]); err != nil {
		return "", nil, err
	}
	if text, err := readable(file, data); err != nil {
		return "", nil, err
	} else if text != nil {
		s.files.over[file] = text
	}
	top, err := documentedFields(file, nodes[0])
	return file, top, err
}

func (s *inputCheck) kustomizationFile(dir string) (string, error) {
	if path.Dir(s.root) == dir {
		return s.root, nil // it may have been generated
	}
	file, err := render.KustomizationFile(s.files.tree, dir)
	if err == nil && file == "" {
		err = errors.New("no kustomization file")
	}
	if err != nil {
		return "", &render.Error{File: dir, Err: yamlErrorText(err)}
	}
	return file, nil
}

func (s *inputCheck) field(v visit, key, value *yaml.Node) error {
	switch key.Value {
	case "resources", "bases", "components":
		return s.each(value, func(n *yaml.Node) error { return s.resource(v, n, manifests) })
	case "generators", "transformers", "validators":
		return s.each(value, func(n *yaml.Node) error { return s.resource(v, n, anyYAML) })
	case "crds", "configurations", "patchesStrategicMerge":
		return s.each(value, func(n *yaml.Node) error { return s.yaml(v, n) })
	case "patches", "patchesJson6902":
		return s.each(value, func(n *yaml.Node) error { return s.yamlFields(v, n, "path", "patch") })
	case "replacements":
		return s.each(value, func(n *yaml.Node) error { return s.yamlFields(v, n, "path") })
	case "configMapGenerator", "secretGenerator":
		return s.each(value, func(n *yaml.Node) error { return s.generator(v, n) })
	case "openapi":
		s.openapi = true
		return s.leaf(v, render.FieldNode(value, "path"))
	case "helmCharts", "helmChartInflationGenerator":
		if s.inflation == nil {
			return s.fail(v.file, key, "%s: %w", key.Value, errNoHelm)
		}
	}
	return nil
}

func (s *inputCheck) each(list *yaml.Node, check func(*yaml.Node) error) error {
	if list.Kind != yaml.SequenceNode {
		return nil // Kustomize refuses it with a type error.
	}
	for _, n := range list.Content {
		if err := check(render.FollowAlias(n)); err != nil {
			return err
		}
	}
	return nil
}

// resource checks an entry that may be a file or a directory with a kustomization of its own.
func (s *inputCheck) resource(v visit, n *yaml.Node, decode decoder) error {
	find := s.find
	if n.Kind == yaml.ScalarNode && !isInlineDocument(n.Value) && upstream.IsRemote(n.Value) {
		find = s.remote
	}
	name, info, err := find(v, n)
	if err != nil || info == nil {
		return err
	}
	if !info.IsDir() {
		s.manifests = append(s.manifests, name)
		return s.decode(v, n, name, decode)
	}
	if i := slices.Index(v.chain, name); i >= 0 {
		return s.fail(v.file, n, "%s: cycle: %s", n.Value, strings.Join(append(v.chain[i:], name), " -> "))
	}
	if len(v.chain) >= maxChain {
		return s.fail(v.file, n, "%s: more than %d kustomizations build on each other: %w", n.Value, maxChain, render.ErrLimit)
	}
	if _, err := s.kustomizationFile(name); err != nil {
		return s.fail(v.file, n, "%s: %w", n.Value, withoutPlace(err))
	}
	return s.walk(name, v)
}

// decoder reads a file for its errors alone.
type decoder func(file string, data []byte) error

// manifests wants complete objects, with the names by which Kustomize distinguishes them.
func manifests(file string, data []byte) error {
	all, err := render.Manifests(file, data)
	for _, o := range all {
		if err == nil && o.Data.IsGenerated() {
			err = &render.Error{File: o.File, Line: o.Line, Err: errGenerated}
		}
	}
	return err
}

var errGenerated = errors.New("generateName without a name: Kustomize, and so Flux and Argo CD, build no object without a name; give it one")

// anyYAML wants documents without duplicate keys and bombs.
func anyYAML(file string, data []byte) error {
	nodes, err := render.ParseNodes(file, data)
	for i := 0; err == nil && i < len(nodes); i++ {
		_, err = render.DecodeValue(file, nodes[i])
	}
	return err
}

func (s *inputCheck) decode(v visit, n *yaml.Node, name string, decode decoder) error {
	data, err := s.files.ReadFile(mountPath(name))
	if err != nil {
		return s.fail(v.file, n, "%s: %w", n.Value, yamlErrorText(err))
	}
	if err := decode(name, data); err != nil {
		return err
	}
	text, err := readable(name, data)
	if err == nil && text != nil {
		s.files.over[name] = text
	}
	return err
}

// readable is a file in the form that Kustomize reads, of one that it does not: UTF-16, %YAML, several JSON values, or lists whose items leave
// their type to the list. Nil for any other.
func readable(name string, data []byte) ([]byte, error) {
	nodes, err := render.ParseNodes(name, data)
	if err != nil || !isForeign(data, nodes) {
		return nil, err
	}
	var texts [][]byte
	for _, n := range nodes {
		all, err := listValues(name, n)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			text, err := json.Marshal(v)
			if err != nil {
				return nil, &render.Error{File: name, Line: n.Line, Err: err}
			}
			texts = append(texts, text)
		}
	}
	return append(bytes.Join(texts, []byte("\n---\n")), '\n'), nil
}

// listValues are the objects of a list whose items leave their type to it, or else the document as it is.
func listValues(name string, n *yaml.Node) ([]any, error) {
	v, err := render.DecodeValue(name, n)
	if err != nil || !isUntypedList(n) {
		return []any{v}, err
	}
	objects, err := render.Document(name, n)
	out := make([]any, 0, len(objects))
	for _, o := range objects {
		out = append(out, o.Data)
	}
	return out, err
}

func isForeign(data []byte, nodes []*yaml.Node) bool {
	text, err := yamltext.ManifestText(data)
	foreign := err == nil && !bytes.Equal(text, data)
	jsonValues := len(nodes) > 1 && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && !bytes.Contains(data, []byte("\n---"))
	return foreign || jsonValues || slices.ContainsFunc(nodes, isUntypedList)
}

// isUntypedList reports whether a document is a list with an item that names no type.
func isUntypedList(n *yaml.Node) bool {
	items := render.FieldNode(n, "items")
	if items == nil || !strings.HasSuffix(scalarText(render.FieldNode(n, "kind")), "List") {
		return false
	}
	return slices.ContainsFunc(items.Content, func(item *yaml.Node) bool { return render.FieldNode(item, "kind") == nil })
}

// yaml checks an entry that is a YAML file, or a document in place. Kustomize reports the errors of the latter: only bombs
// must not get that far.
func (s *inputCheck) yaml(v visit, n *yaml.Node) error {
	if n != nil && n.Kind == yaml.ScalarNode && isInlineDocument(n.Value) {
		if err := anyYAML(v.file, []byte(n.Value)); errors.Is(err, render.ErrLimit) {
			return s.fail(v.file, n, "%w", withoutPlace(err))
		}
		return nil
	}
	find := s.find
	if n != nil && upstream.IsRemote(n.Value) {
		find = s.remoteFile
	}
	name, info, err := find(v, n)
	if err != nil || info == nil {
		return err
	}
	if info.IsDir() {
		return s.fail(v.file, n, "%s: is a directory", n.Value)
	}
	return s.decode(v, n, name, anyYAML)
}

// leaf checks an entry that must be a file.
func (s *inputCheck) leaf(v visit, n *yaml.Node) error {
	_, info, err := s.find(v, n)
	if err == nil && info != nil && info.IsDir() {
		err = s.fail(v.file, n, "%s: is a directory", n.Value)
	}
	return err
}

func (s *inputCheck) generator(v visit, n *yaml.Node) error {
	for _, env := range fieldValues(n, "env") {
		if err := s.leaf(v, env); err != nil {
			return err
		}
	}
	for _, key := range []string{"files", "envs"} {
		for _, list := range fieldValues(n, key) {
			if err := s.each(list, func(e *yaml.Node) error { return s.generatorFile(v, key, e) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// generatorFile checks an entry of a generator's files or envs.
func (s *inputCheck) generatorFile(v visit, key string, e *yaml.Node) error {
	entry := *e
	if key == "files" {
		_, entry.Value = namedFile(e.Value)
	}
	if upstream.IsRemote(entry.Value) {
		_, _, err := s.remoteFile(v, &entry)
		return err
	}
	return s.leaf(v, &entry)
}

// find resolves an entry. It gives nothing for what is no path: an inline document, or no scalar.
func (s *inputCheck) find(v visit, n *yaml.Node) (string, fs.FileInfo, error) {
	if n == nil || n.Kind != yaml.ScalarNode || isInlineDocument(n.Value) {
		return "", nil, nil
	}
	if upstream.IsRemote(n.Value) {
		return "", nil, s.refuse(v, n)
	}
	name := path.Join(v.dir, n.Value)
	if path.IsAbs(n.Value) || name == ".." || strings.HasPrefix(name, "../") || upstream.RepositoryRoot(name) != upstream.RepositoryRoot(v.dir) {
		return "", nil, s.fail(v.file, n, "%s: %w", n.Value, errOutside)
	}
	info, err := fs.Stat(s.files.tree, name)
	if err != nil {
		return "", nil, s.fail(v.file, n, "%s: %w", n.Value, yamlErrorText(err))
	}
	return name, info, nil
}

// isInlineDocument reports whether an entry is a document and not a path.
func isInlineDocument(entry string) bool {
	return strings.ContainsAny(entry, "\n{") || strings.Contains(entry, ": ")
}

// yamlErrorText takes the path out of an error that is reported with its own.
func yamlErrorText(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no such file%w", silent{fs.ErrNotExist})
	}
	return err
}

// withoutPlace takes the place out of an error that is reported with another.
func withoutPlace(err error) error {
	var e *render.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// silent is an error for errors.Is that adds nothing to the text.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }
