package main

// newer are the fields of source-watcher's API v2.3 and source-controller's API v1.10 that truce reads or writes: their modules need a newer Go.
var newer = map[string][]string{
	"artifactgenerators": {copyStrategy, copyOptional + copyStrategy, outputRevision, outputInputs + outputRevision},
	"externalartifacts":  {endOfConditions, endOfConditions + exportedInputs},
}

const (
	copyStrategy = "                          strategy:\n                            description: |-\n                              Strategy specifies the copy strategy to use.\n"
	copyOptional = `                          optional:
                            description: Optional makes the copy do nothing where no
                              file of the source matches. Else that is a failed build.
                            type: boolean
`
	outputRevision = "                    originRevision:\n"
	outputInputs   = `                    inputsFrom:
                      description: |-
                        InputsFrom is a YAML file, as "@<alias>/<path>", whose content is in
                        status.exportedInputs of the ExternalArtifact. The alias "artifact" is the
                        generated artifact itself.
                      maxLength: 1024
                      minLength: 1
                      pattern: ^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)/(.*)$
                      type: string
`
	endOfConditions = "                  - status\n                  - type\n                  type: object\n                type: array\n"
	exportedInputs  = `              exportedInputs:
                additionalProperties:
                  x-kubernetes-preserve-unknown-fields: true
                description: ExportedInputs is structured data of the artifact, for templating
                  engines.
                type: object
`
)
