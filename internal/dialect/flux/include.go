package flux

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// includes reads spec.include.
func (r *reading) includes(list []sourcev1.GitRepositoryInclude) []tree.Part {
	var out []tree.Part
	for i, in := range list {
		if in.GitRepositoryRef.Name == "" {
			r.Problem(fmt.Sprintf("spec.include[%d].repository.name", i), "required: the GitRepository of which files are included")
		}
		out = append(out, tree.Part{Name: in.GitRepositoryRef.Name, From: insideTop(in.GetFromPath()), To: insideTop(in.GetToPath())})
	}
	return out
}

// insideTop reads a path below the top of an artifact; as in Flux, none leads out of it.
func insideTop(text string) string {
	if at := strings.TrimPrefix(path.Clean("/"+text), "/"); at != "" {
		return at
	}
	return "."
}

// includeReasons are those of the condition IncludeUnavailable.
var includeReasons = []source.Reason{source.IncludeNotFound, source.IncludeNoArtifact, source.IncludeCopyFailure, source.IncludeCycle}

// includeReason reports whether a fetch went through, and what it includes could not be put into it.
func includeReason(err error) (string, bool) {
	var e *source.Error
	if errors.As(err, &e) && slices.Contains(includeReasons, e.Reason) {
		return string(e.Reason), true
	}
	return "", false
}

// included sets the condition of what is included, which is there only while something is wrong with it.
func (c *conditions) included(s dialect.SourceState) {
	reason, failed := includeReason(s.Err)
	switch {
	case s.Running:
		c.keep(sourcev1.IncludeUnavailableCondition)
	case failed:
		c.set(sourcev1.IncludeUnavailableCondition, metav1.ConditionTrue, reason, s.Err.Error())
	}
}

// includedArtifacts describes what is in the artifact of others; the time is when it was first seen there.
func includedArtifacts(had []*meta.Artifact, s dialect.SourceState) []*meta.Artifact {
	var out []*meta.Artifact
	for i, in := range s.Artifact.Included {
		if i < len(had) && had[i] != nil && had[i].Revision == in.Revision && had[i].Digest == in.Digest {
			out = append(out, had[i])
			continue
		}
		out = append(out, &meta.Artifact{Revision: in.Revision, Digest: in.Digest, LastUpdateTime: metav1.NewTime(s.At.UTC())})
	}
	return out
}
