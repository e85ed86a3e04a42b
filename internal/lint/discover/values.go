package discover

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render"
)

// valuesObject is a ConfigMap or Secret of the repository: as a unit describes it, or as a file has it.
type valuesObject struct {
	file   string
	by     *wanted // nil for one of a file
	values map[string]string
}

// substitution returns the variables of an app as far as the repository has their values. Expressions without a value stay as they are written:
// the cluster may have one.
func (t *finder) substitution(w *wanted) *variables.Set {
	w.unit.Unvalued = nil
	p := w.unit.App.PostBuild
	if !p.IsSet() {
		return nil
	}
	s, err := variables.CollectSet(p, func(ref variables.Reference) (map[string]string, error) {
		values := t.valuesOf(w, ref)
		if len(values) == 0 {
			w.unit.Unvalued = append(w.unit.Unvalued, ref)
		}
		return values, nil
	})
	if err != nil || s == nil {
		return nil
	}
	s.Unknown = variables.KeepUnknown
	return s
}

// valuesOf finds a ConfigMap or Secret that an app names. Of several of one name, as clusters of one repository have them, it takes the one
// that is described beside the app, and else the one whose file is nearest to the app's.
func (t *finder) valuesOf(w *wanted, ref variables.Reference) map[string]string {
	t.readValues()
	id := object.ID{Kind: ref.Kind, Namespace: w.unit.App.Key.Namespace, Name: ref.Name}
	found := t.values[id]
	if len(found) == 0 {
		id.Namespace = ""
		found = t.values[id]
	}
	best, score := map[string]string(nil), -1
	for _, v := range found {
		near := commonDirectories(v.file, w.unit.File)
		if v.by != nil {
			near += 1_000 // what is described is more than what stands in a file
		}
		if v.by != nil && slices.Contains(w.by, v.by) {
			near += 10_000
		}
		if near > score {
			best, score = v.values, near
		}
	}
	return best
}

func commonDirectories(a, b string) int {
	x, y := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

// readValues reads the ConfigMaps and Secrets of all files, once, and only where an app names some.
func (t *finder) readValues() {
	if t.valuesRead {
		return
	}
	t.valuesRead = true
	for _, d := range t.scan.dirs {
		for _, name := range d.manifests {
			data, err := render.ReadFile(t.files, name, render.Limits{}.OrDefault().FileBytes)
			if err != nil || !bytes.Contains(data, []byte("ConfigMap")) && !bytes.Contains(data, []byte("Secret")) {
				continue
			}
			t.keepFileValues(name, data)
		}
	}
}

func (t *finder) keepFileValues(name string, data []byte) {
	nodes, err := render.ParseNodes(name, data)
	if err != nil {
		return // it was reported
	}
	for _, n := range nodes {
		objects, _ := render.Document(name, n) // what is no object holds no values
		for _, o := range objects {
			t.keepValues(o.Data, valuesObject{file: name})
		}
	}
}

// keepValues remembers the values of a ConfigMap or Secret. Encrypted ones are none.
func (t *finder) keepValues(o object.Object, v valuesObject) {
	id := o.ID()
	if id.Group != "" || id.Kind != "ConfigMap" && id.Kind != "Secret" {
		return
	}
	values, err := variables.TextValues(o)
	if err != nil {
		return
	}
	maps.DeleteFunc(values, func(_, value string) bool { return strings.HasPrefix(value, "ENC[") })
	if t.values == nil {
		t.values = map[object.ID][]valuesObject{}
	}
	v.values = values
	t.values[id] = append(t.values[id], v)
}
