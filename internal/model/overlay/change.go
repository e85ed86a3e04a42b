package overlay

// Change is what a command wants to be different. What is nil or empty stays as it is.
type Change struct {
	NamePrefix, NameSuffix, Namespace *string
	Version                           *string           // of the tool
	Images                            []Image           // overrides to set
	Replicas                          []Replica         // overrides to set
	Labels, Annotations               map[string]string // instead of those that are there

	WithoutSelectors, Templates   *bool // of the labels
	ForceLabels, ForceAnnotations *bool
	Optional                      *bool // components that are not there are left out

	DropImages, DropReplicas []string // overrides to take away, by name
}
