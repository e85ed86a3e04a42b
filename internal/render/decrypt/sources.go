package decrypt

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/sops"
)

// sources are the files of generators.
type sources struct {
	// generated are those of secretGenerators, and the format of each.
	generated map[string]sops.Format
	// plain are those of configMapGenerators alone: as in Flux they stay as they are, since a ConfigMap is no place for a secret.
	plain map[string]bool
}

// sourcesOf reads the kustomizations of a build, and those of the components that the app adds. What is wrong in them is reported by the build.
func sourcesOf(files fs.FS, dir string, components []string) sources {
	w := sourceWalk{files: files, seen: map[string]bool{}, found: sources{generated: map[string]sops.Format{}, plain: map[string]bool{}}, patches: map[string]bool{}}
	w.directory(path.Clean(dir))
	for _, c := range components {
		w.below(dir, c)
	}
	for name := range w.found.plain {
		if _, ok := w.found.generated[name]; ok || w.patches[name] {
			delete(w.found.plain, name)
		}
	}
	return w.found
}

// EncryptedSources are the files in a tree that secretGenerators of a build read and that SOPS has encrypted, in order. No key is needed.
func EncryptedSources(ctx context.Context, files fs.FS, dir string) []string {
	generated := sourcesOf(files, dir, nil).generated
	var out []string
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		data, err := render.ReadFile(files, name, maxFile)
		if err != nil || !sops.MayBeEncrypted(data) {
			continue // the build reports a file that cannot be read
		}
		if _, err := sops.Decrypt(ctx, data, generated[name], sops.Keys{}); err != nil && !errors.Is(err, sops.ErrPlain) {
			out = append(out, name)
		}
	}
	return out
}

type sourceWalk struct {
	files   fs.FS
	seen    map[string]bool
	found   sources
	patches map[string]bool
}

// maxKustomization bounds the size of a kustomization that is read.
const maxKustomization = 1 << 20

func (w *sourceWalk) directory(dir string) {
	if w.seen[dir] || !fs.ValidPath(dir) {
		return
	}
	w.seen[dir] = true
	name, err := render.KustomizationFile(w.files, dir)
	if err != nil {
		return
	}
	if name == "" { // Flux generates one for the manifests and kustomizations below
		_, roots, err := render.Collect(w.files, dir)
		for _, below := range roots {
			if err == nil {
				w.directory(below)
			}
		}
		return
	}
	data, err := render.ReadFile(w.files, name, maxKustomization)
	if err != nil {
		return
	}
	nodes, err := render.ParseNodes(name, data)
	if err != nil || len(nodes) != 1 {
		return
	}
	w.kustomization(dir, nodes[0])
}

func (w *sourceWalk) kustomization(dir string, top *yaml.Node) {
	for _, key := range []string{"resources", "bases", "components"} {
		for _, n := range entriesOf(top, key) {
			w.below(dir, n.Value)
		}
	}
	for _, n := range entriesOf(top, "patchesStrategicMerge") {
		w.patches[path.Join(dir, n.Value)] = true
	}
	for _, n := range slices.Concat(entriesOf(top, "patches"), entriesOf(top, "patchesJson6902")) {
		if file := render.FieldNode(n, "path"); file != nil {
			w.patches[path.Join(dir, file.Value)] = true
		}
	}
	for _, n := range entriesOf(top, "secretGenerator") {
		w.generator(dir, n, func(name string, format sops.Format) {
			if _, ok := w.found.generated[name]; !ok {
				w.found.generated[name] = format
			}
		})
	}
	for _, n := range entriesOf(top, "configMapGenerator") {
		w.generator(dir, n, func(name string, _ sops.Format) { w.found.plain[name] = true })
	}
}

// below looks into a resource or component of a directory that is a directory itself.
func (w *sourceWalk) below(dir, name string) {
	name = path.Join(dir, name)
	if info, err := fs.Stat(w.files, name); err == nil && info.IsDir() {
		w.directory(name)
	}
}

// generator names the files of a generator, and the formats that Flux takes them for.
func (w *sourceWalk) generator(dir string, n *yaml.Node, found func(name string, format sops.Format)) {
	for _, e := range entriesOf(n, "files") {
		key, file, ok := strings.Cut(e.Value, "=")
		if !ok {
			file = key
		}
		found(path.Join(dir, file), sops.FormatOf(key))
	}
	envs := entriesOf(n, "envs")
	if env := render.FieldNode(n, "env"); env != nil {
		envs = append(slices.Clip(envs), env)
	}
	for _, e := range envs {
		format := sops.FormatOf(e.Value)
		if format == sops.Binary {
			format = sops.Dotenv
		}
		found(path.Join(dir, e.Value), format)
	}
}

func entriesOf(n *yaml.Node, key string) []*yaml.Node {
	list := render.FieldNode(n, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]*yaml.Node, 0, len(list.Content))
	for _, e := range list.Content {
		out = append(out, render.FollowAlias(e))
	}
	return out
}
