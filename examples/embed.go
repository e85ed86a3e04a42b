// Package examples answers: what does a first repository look like?
//
// In: the directory demo beside this file.
// Out: it, inside of the binary: `truce up` makes a git repository of it.
// Promise: every file in it is one that users write; nothing in it is there for truce alone, but the sandbox's annotations.
// Not here: the documents' incidents (incidents), which no program reads.
package examples

import "embed"

// Demo holds the demo repository below the directory demo: apps/, and clusters/demo/ with the custom resources that bring
// them into a cluster. The url of the GitRepository there must be set to where the copy is.
//
//go:embed all:demo
var Demo embed.FS
