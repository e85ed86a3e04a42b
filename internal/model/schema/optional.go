package schema

import (
	_ "embed"
	"strings"
)

// optional are the fields that are optional records in every type of Kubernetes 1.37 that has them: pointers in Go.
//
//go:embed optional.txt
var optional string

// IsOptionalRecord reports whether a field of this name, in an object of Kubernetes' own kinds, is a record that may be absent: the server distinguishes an empty
// one (securityContext: {}) from none, and keeps it. Of a map (nodeSelector), of a list and of a record that is always there (resources) it does not.
func IsOptionalRecord(name string) bool { return strings.Contains(optional, "\n"+name+"\n") }
