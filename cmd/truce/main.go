// Command truce keeps a Kubernetes cluster equal to Git, field by field, and at peace.
package main

import (
	"os"

	"github.com/truce-gitops/truce/internal/compose"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(compose.Main(os.Args, version)) }
