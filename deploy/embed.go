// Package deploy answers: what must a cluster hold before truce can run on it?
//
// In: the YAML files beside this one.
// Out: them, inside of the binary.
// Promise: crds is generated from the types that truce decodes; no field of Flux's is missing in it.
// Not here: installing them (controller, cli).
package deploy

import "embed"

//go:generate go run ./gen

// CRDs holds the CustomResourceDefinitions as crds/*.yaml, one a file. They are for clusters that have no Flux: where Flux's own are
// served, truce works with those (see Drops of the Flux front).
//
//go:embed crds/*.yaml
var CRDs embed.FS
