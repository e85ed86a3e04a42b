package policy

// DefaultNamespace is the namespace of namespaced objects that name none. Its zero value is none: they are refused, as by Flux and Argo CD.
type DefaultNamespace struct {
	Name  string
	Field string // of the custom resource that names it
	// Make says whether it is made where it is missing. It has no owner then, and is not deleted with the app.
	Make                bool
	Labels, Annotations map[string]string // that it is to bear where it is made
	FirstLabels         map[string]string // that it gets when it is made, and may lose
}

// HasMetadata reports whether the namespace is to have labels or annotations, besides those that it may lose.
func (d DefaultNamespace) HasMetadata() bool { return d.Make && len(d.Labels)+len(d.Annotations) > 0 }
