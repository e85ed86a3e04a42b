package audit

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/render"
)

func secretStringData() rule {
	return rule{Rule: Rule{
		ID: "secret-string-data", Severity: Warning,
		Title: "a Secret in Git has stringData",
		Reason: "stringData is written and never read back: the server puts it into data, but the manager goes on owning stringData. A key that is taken " +
			"out of Git therefore stays in the cluster, and a changed value is seen by no comparison of fields. Truce and Flux turn it into data first; " +
			"Argo CD with ServerSideApply and kubectl do not. And what stands there as plain text can be read by whoever can read the repository.",
		Remedy: "Encrypt the Secret (SOPS, Sealed Secrets) or let an operator make it (External Secrets); if it must be here, write data.",
		Source: "measured on kube-apiserver 1.37: managedFields hold f:stringData, and a key that the next apply leaves out stays in data",
	}, find: (*judgement).secretStringData}
}

func (j *judgement) secretStringData() []Finding {
	var out []Finding
	for _, m := range j.manifests() {
		texts := render.Field(m.node, "stringData")
		if m.gvk() != (object.GVK{Version: "v1", Kind: "Secret"}) || texts == nil || texts.Kind != yaml.MappingNode {
			continue
		}
		f := m.finding(field.Name("stringData"), keyNode(m.node, "stringData"))
		f.Message, f.Remedy = m.title()+" has stringData", "write data"
		if n := plainTexts(texts); n > 0 {
			f.Message += fmt.Sprintf("; %d of its %d values can be read by whoever reads the repository", n, len(texts.Content)/2)
			f.Remedy = "encrypt it, or let an operator make it"
		} else {
			f.Severity = Info
		}
		out = append(out, f)
	}
	return out
}

// plainTexts counts the values that are neither encrypted (SOPS) nor put in later: variables of Flux (${…}) and of
// argocd-vault-plugin (<…>).
func plainTexts(texts *yaml.Node) int {
	n := 0
	for i := 1; i < len(texts.Content); i += 2 {
		v := strings.TrimSpace(render.Follow(texts.Content[i]).Value)
		hidden := v == "" || strings.HasPrefix(v, "ENC[") || strings.Contains(v, "${") || strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">")
		if !hidden {
			n++
		}
	}
	return n
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
