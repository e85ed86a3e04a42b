package tree

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// JoinArtifacts returns one artifact with the files of all, each in its directory. Its revision, commit and repository are those of all, with spaces between.
func JoinArtifacts(dirs []string, all []source.Artifact) (source.Artifact, error) {
	var out source.Artifact
	var files []Mounted
	var revisions, commits, repositories []string
	for i, a := range all {
		files = append(files, Mounted{Name: dirs[i], Files: a.Files})
		revisions, commits, repositories = append(revisions, a.Revision), append(commits, a.Commit), append(repositories, a.Repository)
		if a.Time.After(out.Time) {
			out.Time = a.Time
		}
		a.Files = nil
		out.Included = append(out.Included, a)
	}
	mounts := MountTrees(files)
	digest, err := mounts.Digest()
	if err != nil {
		return source.Artifact{}, fmt.Errorf("join the sources: %w", err)
	}
	out.Files, out.Digest = mounts, digest
	out.Revision, out.Commit, out.Repository = strings.Join(revisions, " "), strings.Join(commits, " "), strings.Join(repositories, " ")
	return out, nil
}
