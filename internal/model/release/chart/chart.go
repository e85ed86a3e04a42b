// Package chart answers: which chart of a source's files does a HelmChart name?
//
// In: nothing; source/chartfile fills it in.
// Out: Files, which goes with the artifact.
// Promise: values alone.
// Not here: what is in the files (source/chartfile).
package chart

// Files are the chart that a HelmChart names, among the files of its source.
type Files struct {
	Name, Version string   // as its Chart.yaml says
	Directory     string   // that it is in
	Values        []string // files that replace the values of the chart, in their order; empty for its own
	Metadata      string   // is appended to its version; empty for nothing
	Origin        string   // the revision of the source
}
