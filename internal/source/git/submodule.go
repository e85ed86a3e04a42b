package git

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/tree"
)

const (
	modulesFile        = ".gitmodules"
	longestModulesFile = 1 << 20
	mostSubmodules     = 200 // in one artifact
	deepestSubmodule   = 10
)

// checkout is a commit of a repository, and where its files are in the tree.
type checkout struct {
	address address
	auth    source.Auth
	repo    *repository
	commit  string
	prefix  string // "" or a directory with a slash at its end
	depth   int
}

// files returns the tree of a commit, with its submodules where they are wanted.
func (s *Store) files(ctx context.Context, a address, spec source.Spec, top checkout) (*tree.Tree, error) {
	key := treeKeyOf(top.commit, spec)
	if !spec.Submodules {
		return top.repo.tree(ctx, key, nil)
	}
	if t := top.repo.keptTree(key); t != nil {
		return t, nil
	}
	top.address, top.auth = a, spec.Auth
	spec.Limits = key.limits
	w := &moduleWalk{store: s, spec: spec, left: listFactor * spec.Limits.Files}
	list, err := w.entries(ctx, top)
	if err != nil {
		return nil, err
	}
	return top.repo.tree(ctx, key, list)
}

// keptTree returns a tree that can be used again; nil for none.
func (r *repository) keptTree(key treeKey) *tree.Tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.trees.get(key)
	if ok && slices.ContainsFunc(repositoriesOf(t), (*repository).isStale) {
		r.trees.drop(key)
		return nil
	}
	return t
}

// isStale reports whether the clone was removed, or must be checked by a fetch.
func (r *repository) isStale() bool { return r.suspected.Load() || r.objects.isClosed() }

// moduleWalk gathers the entries of a commit with those of its submodules.
type moduleWalk struct {
	store *Store
	spec  source.Spec
	left  int // entries that may follow
	count int // submodules so far
}

func (w *moduleWalk) entries(ctx context.Context, at checkout) ([]tree.Entry, error) {
	list, err := at.repo.list(ctx, at.commit, w.left)
	if err != nil {
		return nil, moduleError(ctx, at, err)
	}
	if w.left -= len(list); w.left <= 0 {
		return nil, sourceError(source.LimitExceeded, "the tree and its submodules have more than %d entries before the ignore rules", listFactor*w.spec.Limits.Files)
	}
	urls, err := at.repo.moduleURLs(ctx, list)
	if err != nil {
		return nil, moduleError(ctx, at, err)
	}
	out := make([]tree.Entry, 0, len(list))
	for _, e := range list {
		url, named := urls[e.Path]
		e.Path = at.prefix + e.Path
		if at.prefix != "" {
			e.In = at.repo
		}
		if e.Mode != tree.Submodule || !named || !w.wants(e.Path) {
			out = append(out, e)
			continue
		}
		below, err := w.module(ctx, at, e, url)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}

// wants reports whether any of a submodule can be in the artifact.
func (w *moduleWalk) wants(at string) bool {
	for dir := range strings.SplitSeq(w.spec.Sparse, "\n") {
		if dir == "" || strings.HasPrefix(at+"/", dir+"/") || strings.HasPrefix(dir, at+"/") {
			return true
		}
	}
	return false
}

// module fetches a submodule at its recorded commit and returns what it holds.
func (w *moduleWalk) module(ctx context.Context, parent checkout, e tree.Entry, url string) ([]tree.Entry, error) {
	w.count++
	switch {
	case w.count > mostSubmodules:
		return nil, sourceError(source.LimitExceeded, "there are more than %d submodules", mostSubmodules)
	case parent.depth == deepestSubmodule:
		return nil, sourceError(source.LimitExceeded, "submodules are nested deeper than %d at %s", deepestSubmodule, e.Path)
	}
	a, err := moduleAddress(parent.address, url)
	if err != nil {
		return nil, sourceError(source.URLInvalid, "submodule %s: its URL in %s: %w", e.Path, modulesFile, err)
	}
	at := checkout{address: a, auth: source.Auth{Proxy: parent.auth.Proxy}, commit: e.Hash, prefix: e.Path + "/", depth: parent.depth + 1}
	if a.origin() == parent.address.origin() {
		at.auth = parent.auth
	}
	if at.repo, err = w.fetch(ctx, parent, at); err != nil {
		return nil, moduleError(ctx, at, err)
	}
	return w.entries(ctx, at)
}

// fetch brings the commit. What a commit names must not make the controller ask servers of its own network: at another origin
// than the parent's only public addresses and listed hosts are asked.
func (w *moduleWalk) fetch(ctx context.Context, parent, at checkout) (*repository, error) {
	spec := source.Spec{Auth: at.auth, Limits: w.spec.Limits, Timeout: w.spec.Timeout}
	switch policy := w.store.options.Servers; {
	case at.address.local():
	case at.address.origin() == parent.address.origin():
		spec.Addresses = w.spec.Addresses
	default:
		if policy.Reach == egress.ReachNetwork {
			policy.Reach = egress.ReachPublic
		}
		way, err := findRoute(ctx, policy, at.address, reach{proxy: at.auth.Proxy})
		if err != nil {
			return nil, err
		}
		spec.Addresses = way.addresses
	}
	repo, _, err := w.store.resolve(ctx, at.address, spec, ref{commit: at.commit})
	return repo, err
}

// moduleError names the submodule, if it is one, without what is secret at its server.
func moduleError(ctx context.Context, at checkout, err error) error {
	var shown *source.Error
	if at.prefix == "" || !errors.As(fetchError(ctx, at.address, at.auth, err), &shown) {
		return err
	}
	reason := errorReason(err)
	if reason == "" {
		reason = source.GitOperationFailed
	}
	return sourceError(reason, "submodule %s at %s, commit %s: %w", strings.TrimSuffix(at.prefix, "/"), at.address, at.commit, shown.Err)
}

// moduleAddress reads the URL of a submodule; one that begins with "./" or "../" is relative to its parent's.
func moduleAddress(parent address, text string) (address, error) {
	if !strings.HasPrefix(text, "./") && !strings.HasPrefix(text, "../") {
		a, err := parseAddress(text)
		if err == nil && a.local() && !parent.local() {
			return address{}, errors.New("it names a directory of the controller's machine")
		}
		return a, err
	}
	a := parent
	a.path = path.Join(parent.path, text)
	if a.path == "." || a.path == "/" || a.path == ".." || strings.HasPrefix(a.path, "../") {
		return address{}, errors.New("it leads out of the server's directories")
	}
	return a, a.check()
}

// moduleURLs returns the URLs that .gitmodules has, by the paths of the submodules.
func (r *repository) moduleURLs(ctx context.Context, list []tree.Entry) (map[string]string, error) {
	for _, e := range list {
		switch {
		case e.Path != modulesFile || e.Mode == tree.Link || e.Mode == tree.Submodule:
		case e.Size > longestModulesFile:
			return nil, sourceError(source.LimitExceeded, "%s has more than %d bytes", modulesFile, longestModulesFile)
		default:
			out, err := r.runner.output(ctx, r.dir, offline, "config", "-z", "--blob", e.Hash, "--list")
			return parseModules(string(out)), err
		}
	}
	return nil, nil
}

// parseModules reads what `git config -z --list` prints.
func parseModules(text string) map[string]string {
	paths, urls := map[string]string{}, map[string]string{}
	for item := range strings.SplitSeq(text, "\x00") {
		key, value, _ := strings.Cut(item, "\n")
		name, ok := strings.CutPrefix(key, "submodule.")
		if module, is := strings.CutSuffix(name, ".path"); ok && is {
			paths[module] = strings.TrimSuffix(value, "/")
		}
		if module, is := strings.CutSuffix(name, ".url"); ok && is {
			urls[module] = value
		}
	}
	out := map[string]string{}
	for name, at := range paths {
		if url := urls[name]; url != "" {
			out[at] = url
		}
	}
	return out
}
