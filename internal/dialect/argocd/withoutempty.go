package argocd

import (
	"encoding/json"

	"github.com/truce-gitops/truce/internal/dialect/editor"
)

// withoutEmpty is a source without the blocks that say nothing. As in Argo CD (util/argo of argo-cd, NormalizeSource) such a block does not choose what the
// directory is rendered with: Argo CD takes it out of the Application, and it remains in Git.
func (s applicationSource) withoutEmpty() applicationSource {
	if !s.kustomized() {
		s.Kustomize = nil
	}
	if !s.isChart() {
		s.Helm = nil
	}
	if !s.isPlain() {
		s.Directory = nil
	}
	return s
}

// kustomized reports whether the source says anything for Kustomize, which makes it a kustomization. What only says how labels and annotations are set says
// nothing by itself.
func (s applicationSource) kustomized() bool {
	k := s.Kustomize
	if k == nil {
		return false
	}
	texts := k.NamePrefix + k.NameSuffix + k.Version + k.Namespace + k.KubeVersion
	entries := len(k.Images) + len(k.Replicas) + len(k.CommonLabels) + len(k.CommonAnnotations) + len(k.Patches) + len(k.Components) + len(k.APIVersions)
	return texts != "" || entries > 0 || k.IgnoreMissingComponents
}

// isChart reports whether the source says anything for Helm, which makes it a chart.
func (s applicationSource) isChart() bool {
	h := s.Helm
	if h == nil {
		return false
	}
	texts := h.Version + h.ReleaseName + h.Values + h.KubeVersion + h.Namespace
	entries := len(h.ValueFiles) + len(h.Parameters) + len(h.FileParameters) + len(h.APIVersions)
	return texts != "" || entries > 0 || h.hasValuesObject() ||
		h.PassCredentials || h.IgnoreMissingValueFiles || h.SkipCrds || h.SkipTests || h.SkipSchemaValidation
}

// hasValuesObject reports whether there is a valuesObject, which may be empty.
func (h *helmSource) hasValuesObject() bool {
	return len(h.ValuesObject) > 0 && string(h.ValuesObject) != "null"
}

// isPlain reports whether the source says anything about a directory of manifests, which makes it one whatever its files are called.
func (s applicationSource) isPlain() bool {
	d := s.Directory
	return d != nil && (d.Recurse || d.Include+d.Exclude != "" || d.Jsonnet.isSet() || d.DisableExtensionFilter)
}

// jsonnetSource is Argo CD's ApplicationSourceJsonnet, which is read in order to be refused.
type jsonnetSource struct {
	ExtVars []json.RawMessage `json:"extVars,omitempty"`
	TLAs    []json.RawMessage `json:"tlas,omitempty"`
	Libs    []json.RawMessage `json:"libs,omitempty"`
}

func (j jsonnetSource) isSet() bool { return len(j.ExtVars)+len(j.TLAs)+len(j.Libs) > 0 }

// sameFiles reports whether two sources make the same of a revision.
func sameFiles(a, b applicationSource) bool {
	a, b = a.withoutEmpty(), b.withoutEmpty()
	return a.RepoURL == b.RepoURL && a.Path == b.Path && a.Chart == b.Chart && sameOptions(a.Kustomize, b.Kustomize) && sameOptions(a.Helm, b.Helm) &&
		sameOptions(a.Directory, b.Directory)
}

// sameOptions reports whether two blocks of a source say the same; an empty list says as much as none.
func sameOptions(a, b any) bool { return editor.CompactJSON(a) == editor.CompactJSON(b) }
