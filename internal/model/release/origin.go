package release

// Origin is the values key that a field of an object comes from, which a render with another value at that key has shown.
type Origin struct {
	// Group, Kind, Namespace and Name are the object's, as the chart renders it. Field is the path of the field: names of fields, and
	// indices of lists.
	Group, Kind, Namespace, Name string
	Field                        []string
	// Key is the key as in helm --set: image.tag, hosts[0].name.
	Key string
	// From names what of the custom resource has the key: spec.values, or as Values.From. It is empty where a file of the chart has it:
	// File, relative to the source's root, and Line.
	From string
	File string
	Line int
}
