package cluster

import (
	"sync"

	"k8s.io/klog/v2"
)

// maxWarnings is how many texts are remembered: some name an object. When there are more, all are forgotten.
const maxWarnings = 1000

// warnings logs each warning of the API server (RFC 7234, code 299) once: the server repeats it with every request that deserves it.
type warnings struct {
	mu   sync.Mutex
	said map[string]bool
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != 299 || text == "" || w.said[text] {
		return
	}
	if w.said == nil || len(w.said) == maxWarnings {
		w.said = map[string]bool{}
	}
	w.said[text] = true
	klog.Background().Info("warning of the API server", "text", text)
}
