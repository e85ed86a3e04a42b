package desired

import (
	"encoding/base64"

	"github.com/truce-gitops/truce/internal/object"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Sanitise returns a copy without what must not be sent in a server-side apply: status, server-set metadata, nulls,
// stringData, quantities in another form than the server keeps, and empty maps that mean nothing. Each of them would
// be a false difference or a false conflict for ever (measured, DESIGN §2.2).
func Sanitise(o object.Object) object.Object {
	c := o.Clone()
	delete(c, "status")
	meta := c.Metadata()
	for _, key := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation", "selfLink"} {
		delete(meta, key)
	}
	if c.GVK().Group == "" && c.GVK().Kind == "Secret" {
		encodeStringData(c)
	}
	defaultProtocols(c)
	pruner{builtIn: builtIn(c.GVK().Group)}.fields(c, "")
	return c
}

// encodeStringData does what the server does with a Secret's stringData: it wins over data.
func encodeStringData(o object.Object) {
	text, ok := o["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(o, "stringData")
	data, ok := o["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		o["data"] = data
	}
	for k, v := range text {
		if s, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
}

// meaningful are maps whose presence says something though they are empty. Elsewhere absent and empty are the same to the server.
var meaningful = map[string]bool{
	"emptyDir": true, "podSelector": true, "namespaceSelector": true, "selector": true, "matchLabels": true, "labelSelector": true,
	"objectSelector": true, "rules": true, "ingress": true, "egress": true, "from": true, "to": true, "subresources": true, "scale": true,
	"data": true, "schema": true, "openAPIV3Schema": true, "default": true, "properties": true, "additionalProperties": true,
}

// pruner drops nulls and, in Kubernetes' own kinds, meaningless empty maps, and brings quantities into the server's form.
// Of custom resources nobody knows what an empty map means, or which text is a quantity.
type pruner struct {
	builtIn bool
}

func (p pruner) fields(m map[string]any, parent string) {
	for k, v := range m {
		if kept, ok := p.value(k, v, parent); ok {
			m[k] = kept
		} else {
			delete(m, k)
		}
	}
}

func (p pruner) value(key string, v any, parent string) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		p.fields(v, key)
		return v, len(v) > 0 || !p.builtIn || meaningful[key]
	case []any:
		for i, e := range v {
			if m, ok := e.(map[string]any); ok {
				p.fields(m, key)
				v[i] = m
			}
		}
		return v, true
	}
	if p.builtIn && (quantities[parent] || quantityFields[key]) {
		return canonical(v), true
	}
	return v, true
}

// quantities are maps whose values are resource quantities; quantityFields are single ones.
var (
	quantities = map[string]bool{
		"limits": true, "requests": true, "capacity": true, "hard": true, "overhead": true,
		"defaultRequest": true, "max": true, "min": true, "maxLimitRequestRatio": true,
	}
	quantityFields = map[string]bool{"sizeLimit": true, "averageValue": true}
)

// canonical writes a quantity as the server does ("1000m" is "1"). What is no quantity stays: the server will say so.
func canonical(v any) any {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case int64:
		return resource.NewQuantity(v, resource.DecimalSI).String()
	default:
		return v
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return v
	}
	return q.String()
}

// defaultProtocols adds the default that is part of a list key: without it the same port written by two managers is two ports.
func defaultProtocols(o object.Object) {
	if o.GVK().Group == "" && o.GVK().Kind == "Service" {
		ports, _ := o.At("spec", "ports").([]any)
		addProtocol(ports)
	}
	for _, at := range [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}} {
		for _, list := range []string{"containers", "initContainers"} {
			containers, _ := o.At(append(append([]string{}, at...), list)...).([]any)
			for _, c := range containers {
				m, _ := c.(map[string]any)
				ports, _ := m["ports"].([]any)
				addProtocol(ports)
			}
		}
	}
}

func addProtocol(ports []any) {
	for _, p := range ports {
		if m, ok := p.(map[string]any); ok && m["protocol"] == nil {
			m["protocol"] = "TCP"
		}
	}
}
