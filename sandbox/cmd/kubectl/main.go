// Command kubectl answers: how does a person talk to the sandbox on a machine that has no kubectl?
//
// In: kubectl's arguments.
// Out: what upstream's kubectl does, of the version that the sandbox serves.
// Promise: nothing is added to upstream's command and nothing taken away.
// Not here: any code of kubectl's own.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
		os.Exit(1)
	}
}
