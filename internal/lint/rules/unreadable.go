package rules

import (
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Unreadable is the rule of manifests that cannot be read, which are not judged.
const Unreadable = "unreadable-manifest"

func unreadableManifest() rule {
	return rule{Rule: Rule{
		ID: Unreadable, Severity: Error,
		Title: "a manifest that cannot be read",
		Reason: "The file names Kubernetes objects and is not valid YAML or JSON: a missing quote, a key that is set twice, bytes that are no " +
			"text. An apply of its directory fails; in Flux and Argo CD the whole app fails. Its content is not audited, so that " +
			"truce audit ends with exit code 4. Templates that another program fills in ({{ … }}) are only listed as left out.",
		Remedy: "Correct the file, or move it out of what is deployed.",
		Source: "YAML 1.2; kustomize build and kubectl apply refuse the same",
	}, check: func(j *checker) []Finding {
		var out []Finding
		for _, k := range j.discovery.Skipped {
			if k.Unreadable() {
				out = append(out, Finding{
					Place:   desired.Place{File: k.File, Line: k.Line, Means: desired.ByManifest},
					Message: "the manifest cannot be read: " + k.Why, Remedy: "correct it",
				})
			}
		}
		return out
	}}
}
