package flux

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	swapi "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The types of an ArtifactGenerator are those of source-watcher's API v2.3, whose module needs a newer Go than truce. deploy/gen adds its fields to the CRDs.

// generatorSpec is the spec of an ArtifactGenerator.
type generatorSpec struct {
	CommonMetadata     *swapi.CommonMetadata   `json:"commonMetadata,omitempty"`
	Sources            []swapi.SourceReference `json:"sources"`
	ServiceAccountName string                  `json:"serviceAccountName,omitempty"`
	PathPattern        string                  `json:"pathPattern,omitempty"`
	ManagedNamespaces  *apiextensionsv1.JSON   `json:"managedNamespaces,omitempty"`
	OutputArtifacts    []generatorOutput       `json:"artifacts"`
}

// generatorOutput is one artifact of it.
type generatorOutput struct {
	Name           string          `json:"name"`
	Namespace      string          `json:"namespace,omitempty"`
	InputsFrom     string          `json:"inputsFrom,omitempty"`
	Revision       string          `json:"revision,omitempty"`
	OriginRevision string          `json:"originRevision,omitempty"`
	Copy           []generatorCopy `json:"copy"`
}

// generatorCopy is one copy operation.
type generatorCopy struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Exclude  []string `json:"exclude,omitempty"`
	Strategy string   `json:"strategy,omitempty"`
	Optional bool     `json:"optional,omitempty"`
}

// externalArtifactStatus is the status of an ExternalArtifact, with what source-controller's API v1.10 adds.
type externalArtifactStatus struct {
	sourcev1.ExternalArtifactStatus `json:",inline"`
	ExportedInputs                  map[string]apiextensionsv1.JSON `json:"exportedInputs,omitempty"`
}

// everyAnnotation replaces the hour between two looks.
const everyAnnotation = "source.extensions.fluxcd.io/reconcileEvery"

// Fields that are refused, and what to do instead.
const (
	noServiceAccount = "truce writes the ExternalArtifacts itself, in the namespace of the ArtifactGenerator alone: remove the field"
	noManaged        = "truce makes no namespaces for artifacts: name them in Git, in what a Kustomization applies"
	noNamespace      = "an artifact of another namespace than %s is not made: put the ArtifactGenerator into %.63s, with spec.sources[].namespace for its sources"
)
