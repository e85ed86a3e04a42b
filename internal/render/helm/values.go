package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/unmerged"
)

// mergeValues lays values over each other: the later ones win, maps are merged key by key. A value with a path is set in what is there by then with
// those of the custom resource over it, which come once more in their place. So does helm-controller, and what it gives depends on which maps are one
// and the same in memory: a value at "auth.password" wins over that of the custom resource where it is the first that says anything of auth, and loses
// elsewhere. Each release that helm-controller has made has such values, so the maps are shared here as they are there.
func mergeValues(all []release.Values) (map[string]any, error) {
	out, own := map[string]any{}, map[string]any{}
	for _, v := range all {
		if !isOfResource(v) {
			continue
		}
		read, err := readValues(v)
		if err != nil {
			return nil, err
		}
		own = loader.MergeMaps(own, read)
	}
	for _, v := range all {
		switch {
		case isOfResource(v):
			out = loader.MergeMaps(out, own)
			continue
		case v.As == release.ValuesText && v.Path != "":
			out = loader.MergeMaps(out, own)
		case v.As == release.ValuesText:
			read, err := readValues(v)
			if err != nil {
				return nil, err
			}
			out = loader.MergeMaps(out, read)
			continue
		}
		if err := setValue(out, v); err != nil {
			return nil, namedValues(v, err)
		}
	}
	return out, nil
}

// isOfResource reports whether values are those of the custom resource itself.
func isOfResource(v release.Values) bool {
	return v.From == "" && v.Path == "" && v.As == release.ValuesText
}

func readValues(v release.Values) (map[string]any, error) {
	read, err := loader.LoadValues(strings.NewReader(v.Text))
	if err != nil {
		return nil, namedValues(v, err)
	}
	return read, nil
}

// setValue sets one value at a path. As in Flux a quoted value is a text, and another one what it reads as.
func setValue(into map[string]any, v release.Values) error {
	text := v.Text
	switch v.As {
	case release.Assignment:
		return strvals.ParseInto(text, into)
	case release.TextsOnly:
		return strvals.ParseIntoString(text, into)
	case release.FileContent:
		return strvals.ParseIntoFile(v.Path+"=file", into, func([]rune) (any, error) { return text, nil })
	case release.ValuesText, release.ValuesFile:
	}
	if v.Literal { // the path is one of helm --set, of which --set-literal has another notion
		return strvals.ParseIntoString(v.Path+"="+literal.Replace(text), into)
	}
	for _, quote := range []string{"'", `"`} {
		if strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			return strvals.ParseIntoString(v.Path+"="+strings.Trim(text, `'"`), into)
		}
	}
	return strvals.ParseInto(v.Path+"="+text, into)
}

// literal takes their meaning from the characters that mean something in a value of helm --set.
var literal = strings.NewReplacer(`\`, `\\`, ",", `\,`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

// namedValues is an error with where the values come from. What a parser quotes may be a value.
func namedValues(v release.Values, err error) error {
	from, text := v.From, redact.WithoutQuoted(err.Error())
	switch {
	case from == "":
		from = "spec.values"
	case v.Secret:
		text = "its text is no YAML map"
	}
	if v.Path != "" {
		text = "they cannot be set there"
		from += " at " + v.Path
	}
	return unmerged.WithCause(fmt.Errorf("values of %s: %s", from, text))
}

// secretTexts are the texts in values that come from Secrets, for hiding them.
func secretTexts(all []release.Values) []string {
	var out []string
	for _, v := range all {
		if !v.Secret {
			continue
		}
		if v.Path != "" {
			out = append(out, v.Text)
			continue
		}
		read, err := loader.LoadValues(strings.NewReader(v.Text))
		if err != nil {
			return append(out, v.Text)
		}
		out = append(out, textsIn(read)...)
	}
	return out
}

func textsIn(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, textsIn(v[k])...)
		}
	case []any:
		for _, e := range v {
			out = append(out, textsIn(e)...)
		}
	case string:
		out = append(out, v)
	}
	return out
}

// readValuesFiles replaces a chart's own values by files of it, as a HelmChart's spec.valuesFiles asks for.
func readValuesFiles(r render.Request, chart *chartv2.Chart) error {
	if len(r.Chart.Files) == 0 {
		return nil
	}
	merged := map[string]any{}
	for _, name := range r.Chart.Files {
		text, err := render.ReadFile(r.Files, name, r.Limits.FileBytes)
		if errors.Is(err, fs.ErrNotExist) && r.Chart.MissingFiles == release.SkipMissing {
			continue
		}
		if err != nil {
			return err
		}
		read, err := loader.LoadValues(bytes.NewReader(text))
		if err != nil {
			return &render.Error{File: name, Err: err}
		}
		merged = loader.MergeMaps(merged, read)
	}
	chart.Values = merged
	return nil
}

// checkSchemas refuses schemas that refer to files and servers: the library would read those.
func checkSchemas(chart *chartv2.Chart) error {
	if len(chart.Schema) > 0 {
		var schema any
		if err := json.Unmarshal(chart.Schema, &schema); err != nil {
			return fmt.Errorf("values.schema.json: %w", err)
		}
		if ref := remoteReference(schema); ref != "" {
			return fmt.Errorf("values.schema.json refers to %s: it must lie in the schema itself", ref)
		}
	}
	for _, d := range chart.Dependencies() {
		if err := checkSchemas(d); err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
	}
	return nil
}

// remoteReference is a reference out of the schema; empty for none.
func remoteReference(schema any) string {
	below, _ := schema.([]any)
	if s, ok := schema.(map[string]any); ok {
		for _, k := range slices.Sorted(maps.Keys(s)) {
			ref, _ := s[k].(string)
			if (k == "$ref" || k == "$dynamicRef") && ref != "" && !strings.HasPrefix(ref, "#") {
				return ref
			}
			below = append(below, s[k])
		}
	}
	for _, e := range below {
		if found := remoteReference(e); found != "" {
			return found
		}
	}
	return ""
}

// withoutSecrets is an error without what Secrets gave to the values.
func (b *build) withoutSecrets(err error) error {
	known := b.secrets()
	if err == nil || known == nil {
		return err
	}
	if text := known.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
