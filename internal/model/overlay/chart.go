package overlay

// ChartChange changes how a chart is rendered (spec.source.helm of an Application). Its zero value changes nothing; nil leaves a setting as it is, and an empty
// text takes it away.
type ChartChange struct {
	Chart                        *string // its name, in a Helm repository
	Release, Namespace           *string
	Version, KubeVersion, Values *string
	ValueFiles, APIVersions      []string // instead of those that are there
	Parameters                   []Parameter

	PassCredentials, MissingFiles  *bool
	SkipCRDs, SkipTests, NoSchemas *bool

	DropParameters, DropValueFiles []string // parameters by name, also those that are files
}

// FilesChange changes which files of a directory are read (spec.source.directory of an Application). Its zero value changes nothing.
type FilesChange struct {
	Recurse          *bool
	Include, Exclude *string // globs; an empty one takes it away
}

// Parameter sets one of a chart's values, as helm --set does.
type Parameter struct {
	Name, Value string
	Text        bool // the value is a text, whatever it looks like (--set-string)
	File        bool // Value is the path of a file whose content is the value (--set-file)
}
