package rules

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

func secretStringData() rule {
	return rule{Rule: Rule{
		ID: "secret-string-data", Severity: Warning,
		Title: "a Secret in Git has plain values in stringData",
		Reason: "Everyone who can read the repository, its clones and its backups can read the values. And stringData is written and never read " +
			"back: the server puts it into data, but the manager goes on owning stringData. A key that is taken out of Git therefore stays in " +
			"the cluster, and a changed value is seen by no comparison of fields. Truce and Flux turn it into data first; Argo CD with " +
			"ServerSideApply and kubectl do not. Values that are encrypted (SOPS), references (op://, vault:, ref+, <path:…>), variables " +
			"(${VAR}, {{ … }}) and what need not be kept (hosts, ports, user names, certificates) do not count.",
		Remedy: "Encrypt the Secret (SOPS, Sealed Secrets) or let an operator make it (External Secrets), and change the values.",
		Source: "measured on kube-apiserver 1.37: managedFields hold f:stringData, and a key that the next apply leaves out stays in data",
	}, check: func(j *checker) []Finding { return j.readable("stringData", plainReading) }}
}

func secretPlainData() rule {
	return rule{Rule: Rule{
		ID: "secret-plain-data", Severity: Warning,
		Title: "a Secret in Git has values that are only encoded",
		Reason: "base64 is no encryption: everyone who can read the repository, its clones and its backups can read the values, and they stay in its " +
			"history. The same holds for what a secretGenerator makes of literals and files. Values that are encrypted, references, variables and what " +
			"need not be kept (hosts, ports, user names, certificates) do not count, in clear or in base64.",
		Remedy: "Encrypt the Secret (SOPS, Sealed Secrets) or let an operator make it (External Secrets), and change the values: they have been read.",
		Source: "https://kubernetes.io/docs/concepts/configuration/secret/: base64 is not an encryption method",
	}, check: func(j *checker) []Finding { return append(j.readable("data", decoded), j.generatedSecrets()...) }}
}

// secretGVK is the kind of Secrets.
var secretGVK = object.GVK{Version: "v1", Kind: "Secret"}

// reading is how a value of a Secret becomes what a container sees; false where it is none.
type reading func(string) (string, bool)

func plainReading(text string) (string, bool) { return text, true }

func decoded(text string) (string, bool) {
	if isPlaceholder(text) {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	return string(data), err == nil
}

// readable finds the Secrets in manifests of which the values of a field can be read.
func (j *checker) readable(name string, read reading) []Finding {
	var out []Finding
	for _, m := range j.manifests() {
		values := render.FieldNode(m.node, name)
		if m.gvk() != secretGVK || values == nil || values.Kind != yaml.MappingNode {
			continue
		}
		var keys []string
		for i := 0; i+1 < len(values.Content); i += 2 {
			if key := values.Content[i].Value; isPlain(key, render.FollowAlias(values.Content[i+1]).Value, read) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		f := m.finding(field.NewPath(name), keyNode(m.node, name))
		f.Message = fmt.Sprintf("%s: %s; %s", m.title(), readableKeys(keys, len(values.Content)/2), isWrittenForm(name))
		f.Remedy = "encrypt it, or let an operator make it, and change the values"
		out = append(out, f)
	}
	return out
}

// generatedSecrets finds the Secrets that a kustomization makes of literals and files in Git.
func (j *checker) generatedSecrets() []Finding {
	var out []Finding
	for d := range j.described() {
		if d.object.GVK != secretGVK || j.files.document(*d.object) != nil {
			continue
		}
		values, _ := d.object.Data.At("data").(map[string]any)
		var keys []string
		for key, v := range values {
			if text, ok := v.(string); ok && isPlain(key, text, decoded) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.Sort(keys)
		f := j.finding(d, field.NewPath("data"))
		f.Message = fmt.Sprintf("Secret %s: %s; a generator makes it of what is in Git", d.object.ID.Name, readableKeys(keys, len(values)))
		f.Remedy = "encrypt it, or let an operator make it, and change the values"
		out = append(out, f)
	}
	return out
}

// isPlain reports whether a value of a Secret is one to keep, and can be read.
func isPlain(key, text string, read reading) bool {
	clear, ok := read(text)
	return ok && !isPlaceholder(clear) && !isPublic(key, clear)
}

// readableKeys says which keys can be read. The values are never said.
func readableKeys(keys []string, all int) string {
	const shown = 4
	more := ""
	if len(keys) > shown {
		more = fmt.Sprintf(" and %d more", len(keys)-shown)
	}
	return fmt.Sprintf("everyone who can read the repository can read %d of %d values (%s%s)", len(keys), all, strings.Join(keys[:min(shown, len(keys))], ", "), more)
}

func isWrittenForm(name string) string {
	if name == "data" {
		return "base64 is no encryption"
	}
	return "they stand in stringData"
}

// keyNode is the key of a map's field.
func keyNode(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i]
		}
	}
	return n
}
