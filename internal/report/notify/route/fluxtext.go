package route

import (
	"strings"

	"github.com/truce-gitops/truce/internal/report/notify"
)

// fluxForms are how Flux's controllers begin, or say, what truce says in other words, by the kind of object and the reason. TEXT is truce's text, and
// REVISION the revision. What varies in Flux, such as a duration, has an example in its place. Messages whose words are the same in both are not here.
var fluxForms = map[string]map[string][]string{
	"Kustomization": {
		"DependencyNotReady":   {"Dependencies do not meet ready condition, retrying in 30s"},
		"ArtifactFailed":       {"kustomization path not found: TEXT", "Source artifact not found, retrying in 30s: TEXT"},
		"BuildFailed":          {"kustomize build failed: TEXT"},
		"HealthCheckFailed":    {"health check failed after 1s: TEXT"},
		"HealthRecovered":      {"Health check passed in 1s"},
		"ReconciliationFailed": {"dry-run failed (Invalid): TEXT"},
		"PruneFailed":          {"delete failed: TEXT"},
	},
	"HelmRelease": {
		"ArtifactFailed": {"Could not load chart: TEXT", "could not get Source object: TEXT"},
		"DriftDetected":  {"Cluster state of release NAMESPACE/NAME has drifted from the desired state:\nTEXT"},
		"DriftCorrected": {"Cluster state of release NAMESPACE/NAME has been corrected:\nTEXT"},
	},
	"GitRepository": {
		"NewArtifact":          {"stored artifact for commit 'REVISION'"},
		"Succeeded":            {"stored artifact for commit 'REVISION'"},
		"GitOperationFailed":   {"failed to checkout and determine revision: TEXT"},
		"AuthenticationFailed": {"failed to configure authentication options: TEXT", "failed to checkout and determine revision: TEXT"},
	},
	"OCIRepository": {
		"NewArtifact":                     {"stored artifact with revision 'REVISION' from 'oci://'"},
		"Succeeded":                       {"stored artifact with revision 'REVISION' from 'oci://'"},
		"OCIArtifactPullFailed":           {"failed to pull artifact from 'oci://': TEXT", "failed to determine artifact digest: TEXT"},
		"AuthenticationFailed":            {"failed to get credential: TEXT"},
		"OCIArtifactLayerOperationFailed": {"failed to extract layer contents from artifact: TEXT"},
	},
	"Bucket": {
		"NewArtifact":           {"stored artifact with 1 fetched files from 'bucket' bucket"},
		"Succeeded":             {"stored artifact with 1 fetched files from 'bucket' bucket"},
		"BucketOperationFailed": {"fetch from bucket 'bucket' failed: TEXT", "failed to confirm existence of 'bucket' bucket: TEXT"},
	},
	"HelmRepository": {
		"NewArtifact":          {"stored fetched index of size 1kB from 'https://'"},
		"Succeeded":            {"stored fetched index of size 1kB from 'https://'"},
		"Failed":               {"failed to fetch Helm repository index: TEXT"},
		"AuthenticationFailed": {"failed to configure authentication options: TEXT"},
		"IndexationFailed":     {"failed to load Helm repository from index YAML: TEXT"},
	},
}

// fluxTexts returns what Flux's controllers say where truce sends this message, as far as it is known and another text.
func fluxTexts(m notify.Message) []string {
	var out []string
	values := strings.NewReplacer("TEXT", m.Text, "REVISION", m.Revision, "NAMESPACE", m.About.Namespace, "NAME", m.About.Name)
	for _, form := range fluxForms[m.About.Kind][m.Reason] {
		out = append(out, values.Replace(form))
	}
	if text := fluxChanges(m); text != "" {
		out = append(out, text)
	}
	return out
}

// fluxChanges returns what kustomize-controller says of objects: a line for each that was created, configured or deleted; without any that it has
// looked at a revision.
func fluxChanges(m notify.Message) string {
	if m.About.Kind != "Kustomization" {
		return ""
	}
	switch m.Reason {
	case "ReconciliationSucceeded":
		changed := m.Evidence[notify.FactChanged]
		if changed == "" {
			return "Reconciliation finished in 1s, next run in 10m0s"
		}
		var lines []string
		for part := range strings.SplitSeq(changed, "; ") {
			action, objects, _ := strings.Cut(part, " ")
			lines = append(lines, changeLines(objects, action))
		}
		return strings.Join(lines, "\n")
	case "DriftCorrected":
		return changeLines(m.Matter.Object, "configured")
	case "Pruned":
		return changeLines(m.Evidence[notify.FactObject], "deleted")
	}
	return ""
}

// changeLines has the line KIND/NAMESPACE/NAME ACTION for each object of a list, in which it is KIND.GROUP NAMESPACE/NAME.
func changeLines(objects, action string) string {
	var lines []string
	for one := range strings.SplitSeq(objects, ", ") {
		kind, name, _ := strings.Cut(one, " ")
		if kind == "and" { // those that are not named
			continue
		}
		kind, _, _ = strings.Cut(kind, ".")
		lines = append(lines, kind+"/"+name+" "+action)
	}
	return strings.Join(lines, "\n")
}
