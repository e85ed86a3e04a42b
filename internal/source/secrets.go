package source

// Secrets is the data of the Secrets that the custom resource of a source names, by key.
type Secrets struct {
	Main   map[string][]byte            // the one of the source's own credentials; nil where there is none
	Other  map[string]map[string][]byte // by name, those that are there
	Pull   []map[string][]byte          // the image pull secrets of its service account
	Origin string                       // namespace/name of Main, for messages
	// Settings is the data of the ConfigMaps that say how servers are verified, by name, those that are there. It is no secret.
	Settings map[string]map[string]string
}
