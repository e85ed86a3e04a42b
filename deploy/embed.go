// Package deploy answers: what must a cluster hold before truce can run on it?
//
// In: the YAML files beside this one.
// Out: them, inside of the binary.
// Promise: the CRDs of Flux's kinds are generated from the types that truce decodes, and no field of Flux's is missing in them; those
// of Application and AppProject keep what they do not name.
// Not here: installing them (controller, cli).
package deploy

import "embed"

//go:generate go run ./gen
//go:generate go run -C release ./manifests -deploy ..

// CRDs holds the CustomResourceDefinitions as crds/*s.yaml, one a file that has its plural as its name. They are for clusters that have no Flux and no Argo CD: where
// those tools' own are served, truce works with them (see Drops of the Flux front).
//
//go:embed crds/*s.yaml
var CRDs embed.FS
