package hook

// PostRendering says what post-renderers do about hooks.
type PostRendering string

// The values of PostRendering.
const (
	RenderedAmongOthers PostRendering = ""         // they change them together with the other manifests
	RenderedApart       PostRendering = "separate" // the same, but apart: an object may be a hook and one of the others
	NotPostRendered     PostRendering = "nohooks"
)
