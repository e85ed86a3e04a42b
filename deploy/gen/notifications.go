package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Flux's Provider and Alert have no status. Truce says in one whether messages go out; and an Alert can name an Application.
const (
	endOfSchema = "        type: object\n    served: true\n"
	status      = `          status:
            description: Status says whether messages go out. Flux's own API has none.
            properties:
              conditions:
                description: Conditions hold Ready.
                items:
                  description: Condition contains details for one aspect of the current
                    state of this API Resource.
                  properties:
                    lastTransitionTime:
                      format: date-time
                      type: string
                    message:
                      maxLength: 32768
                      type: string
                    observedGeneration:
                      format: int64
                      minimum: 0
                      type: integer
                    reason:
                      maxLength: 1024
                      minLength: 1
                      pattern: ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$
                      type: string
                    status:
                      enum:
                      - "True"
                      - "False"
                      - Unknown
                      type: string
                    type:
                      maxLength: 316
                      type: string
                  required:
                  - lastTransitionTime
                  - message
                  - reason
                  - status
                  - type
                  type: object
                type: array
              observedGeneration:
                description: ObservedGeneration is the generation that the conditions
                  are about.
                format: int64
                type: integer
            type: object
`
	noSubresource = "    subresources: {}\n"
	subresource   = "    subresources:\n      status: {}\n"
	ageColumn     = "      name: Age\n      type: date\n"
	columns       = ageColumn + "    - jsonPath: .status.conditions[?(@.type==\"Ready\")].status\n      name: Ready\n      type: string\n" +
		"    - jsonPath: .status.conditions[?(@.type==\"Ready\")].message\n      name: Status\n      type: string\n"
	lastType    = "                - otel\n                type: string\n"
	ownTypes    = "                - otel\n                - email\n                type: string\n"
	lastKind    = "                      - ExternalArtifact\n"
	application = lastKind + "                      - Application\n"
)

// writeNotifications writes the CRDs of Provider, Alert and Receiver, which has a status.
func writeNotifications() error {
	receivers, err := generate("github.com/fluxcd/notification-controller/api/v1", "receivers")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("crds", "receivers.yaml"), []byte(receivers), 0o644); err != nil {
		return err
	}
	for plural, own := range map[string][]string{"providers": {lastType, ownTypes}, "alerts": {lastKind, application}} {
		text, err := generate("github.com/fluxcd/notification-controller/api/v1beta3", plural)
		if err != nil {
			return err
		}
		text, err = editText(text, append([]string{endOfSchema, status + endOfSchema, noSubresource, subresource, ageColumn, columns}, own...))
		if err != nil {
			return fmt.Errorf("%s: %w", plural, err)
		}
		if err := os.WriteFile(filepath.Join("crds", plural+".yaml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// editText replaces texts, each of which is there once, by the ones behind them.
func editText(text string, edits []string) (string, error) {
	for i := 0; i < len(edits); i += 2 {
		if n := strings.Count(text, edits[i]); n != 1 {
			return "", fmt.Errorf("%q is there %d times: Flux has changed its schema", edits[i], n)
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text, nil
}
