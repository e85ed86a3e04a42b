// Package deploy answers: what must a cluster hold before truce can run on it?
//
// In: the YAML files beside this one.
// Out: them, inside of the binary.
// Promise: the CRDs of Flux's kinds are generated from the types that truce decodes, and no field of Flux's is missing in them; the one
// of Application keeps what it does not name.
// Not here: installing them (controller, cli).
package deploy

import "embed"

//go:generate go run ./gen
//go:generate go run -C release ./manifests -deploy ..

// CRDs holds the CustomResourceDefinitions as crds/*.yaml, one a file. They are for clusters that have no Flux and no Argo CD: where
// those tools' own are served, truce works with them (see Drops of the Flux front).
//
//go:embed crds/alerts.yaml crds/applications.yaml crds/artifactgenerators.yaml crds/buckets.yaml crds/externalartifacts.yaml crds/gitrepositories.yaml crds/helmcharts.yaml crds/helmreleases.yaml crds/helmrepositories.yaml crds/kustomizations.yaml crds/ocirepositories.yaml crds/providers.yaml crds/receivers.yaml
var CRDs embed.FS
