package git

import (
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// keepSparse leaves what is in one of the directories, which stand on a line each; without directories, everything.
// A directory that the commit does not have is an error, as in Flux: a name that is spelled wrong must not empty the artifact.
func keepSparse(list []tree.Entry, dirs string) ([]tree.Entry, error) {
	if dirs == "" {
		return list, nil
	}
	found := map[string]bool{}
	var kept []tree.Entry
	for _, e := range list {
		in := false
		for dir := range strings.SplitSeq(dirs, "\n") {
			if e.Path == dir || strings.HasPrefix(e.Path, dir+"/") {
				in, found[dir] = true, true
			}
		}
		if in {
			kept = append(kept, e)
		}
	}
	for dir := range strings.SplitSeq(dirs, "\n") {
		if !found[dir] {
			return nil, sourceError(source.RefNotFound, "the directory %q of spec.sparseCheckout is not in the repository", dir)
		}
	}
	return kept, nil
}
