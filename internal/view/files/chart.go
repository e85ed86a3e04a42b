package files

import (
	"cmp"
	"errors"
	"io/fs"
	"path"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
)

// chartOf says how a directory is rendered as a Helm chart; nil where it is none. Files of values may be anywhere.
func chartOf(files fs.FS, dir string, q Query) (*release.Request, error) {
	_, err := fs.Stat(files, path.Join(dir, "Chart.yaml"))
	kustomization, _ := render.KustomizationFile(files, dir) // the build says what is wrong with it
	if err != nil || kustomization != "" {
		if q.Chart != nil {
			return nil, exit.WithCode(exit.Usage, errors.New("it is no Helm chart, and values are for one: leave -f out, or name the file alone"))
		}
		return nil, nil
	}
	var c release.Request
	if q.Chart != nil {
		c = *q.Chart
	}
	c.Use, c.CRDs, c.Hooks = release.MakeObjects, release.ReplaceCRDs, cmp.Or(c.Hooks, release.ShowHooks)
	c.Release, c.Namespace = cmp.Or(c.Release, "release-name"), cmp.Or(q.Namespace, "default")
	c.Values = nil
	for i := range valuesOf(q) {
		v := q.Chart.Values[i]
		if v.File != "" {
			file, err := readWhole(v.File, q.In)
			if err != nil {
				return nil, errors.New(file.name + ": " + local.SystemCause(err).Error())
			}
			v.Text, v.From, v.File = string(file.data), file.name, ""
		}
		if v.As == release.ValuesFile {
			v.As = release.ValuesText
		}
		c.Values = append(c.Values, v)
	}
	return &c, nil
}

func valuesOf(q Query) []release.Values {
	if q.Chart == nil {
		return nil
	}
	return q.Chart.Values
}
