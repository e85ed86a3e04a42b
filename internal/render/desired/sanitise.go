package desired

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Sanitise returns a copy without what must not be sent in a server-side apply: status, server-set metadata, nulls but for those in the values of a chart
// (an empty text where the server makes that of one), stringData, quantities in another form than the server keeps, and empty maps and lists that mean nothing. Each of them would
// be a false difference, a false conflict or a write without a change for ever (measured): the server stores its
// own kinds in protobuf, which does not know an empty list or map from none, but an empty record.
func Sanitise(o object.Object) object.Object {
	c := o.Clone()
	delete(c, "status")
	meta := c.Metadata()
	for _, key := range serverSet {
		delete(meta, key)
	}
	gvk := c.GVK()
	if gvk.Group == "" && gvk.Kind == "Secret" {
		encodeStringData(c)
	}
	if isOpaque(gvk) {
		pruner{builtIn: true}.fields(meta, "metadata")
		pruner{literal: literalsOf(gvk)}.fields(c, "")
		return c
	}
	defaultProtocols(c)
	pruner{builtIn: true, texts: textsOf[gvk.Kind]}.fields(c, "")
	return c
}

// serverSet are the parts of metadata that the server writes, found in manifests that were exported from a cluster.
var serverSet = []string{
	"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds",
}

// isOpaque reports whether only the kind's own schema says what an empty map means in it, or which text is a quantity:
// custom resources, the schemas in CRDs, and the drivers' parameters of resource.k8s.io.
func isOpaque(gvk object.GVK) bool {
	return !builtIn(gvk.Group) || isCustomResourceDefinition(gvk) || gvk.Group == "resource.k8s.io"
}

// encodeStringData does what the server does with a Secret's stringData, which wins over data, and with line breaks in data.
// What is no text stays where it is: the server will say so.
func encodeStringData(o object.Object) {
	data, ok := o["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
	}
	for k, v := range data {
		if s, ok := v.(string); ok {
			data[k] = strings.NewReplacer("\r", "", "\n", "").Replace(s)
		}
	}
	text, _ := o["stringData"].(map[string]any)
	for k, v := range text {
		if s, ok := v.(string); ok || v == nil {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
			delete(text, k)
		}
	}
	if len(text) == 0 {
		delete(o, "stringData")
	}
	if len(data) > 0 {
		o["data"] = data
	}
}

// meaningful are maps of Kubernetes' own kinds whose presence says something though they are empty, beside the optional records: these are optional
// records in some kinds, and in others maps or records that are always there. Elsewhere absent and empty are the same to the server.
var meaningful = map[string]bool{"podSelector": true, "selector": true}

// pruner drops nulls and, in Kubernetes' own kinds, empty lists and meaningless empty maps, and brings quantities into the server's form.
type pruner struct {
	builtIn bool
	texts   map[string]bool // maps of texts in the kind alone
	literal map[string]bool // fields that hold any JSON, nulls included
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
		return "", p.builtIn && (textMaps[parent] || p.texts[parent])
	case map[string]any:
		if !p.literal[key] {
			p.fields(v, key)
		}
		return v, len(v) > 0 || !p.builtIn || meaningful[key] || schema.IsOptionalRecord(key)
	case []any:
		if !p.literal[key] {
			p.items(v, key)
		}
		return v, len(v) > 0 || !p.builtIn
	}
	if p.builtIn && (quantities[parent] || quantityFields[parent+"."+key]) {
		return canonical(v), true
	}
	return v, true
}

func (p pruner) items(list []any, key string) {
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			p.fields(m, key)
		}
	}
}

// textMaps are maps of texts in Kubernetes' own kinds, and textsOf those of one kind, which is something else in others. In them, and nowhere else, the server
// makes an empty text of a null: a key without a value is in the map.
var (
	textMaps = map[string]bool{"annotations": true, "labels": true, "matchLabels": true, "nodeSelector": true, "volumeAttributes": true}
	textsOf  = map[string]map[string]bool{
		"ConfigMap":             {"data": true, "binaryData": true},
		"Secret":                {"data": true},
		"Service":               {"selector": true},
		"ReplicationController": {"selector": true},
		"StorageClass":          {"parameters": true},
		"VolumeAttributesClass": {"parameters": true},
	}
)

// literals are the places in a CRD's schema that hold any JSON, nulls included. The values of a chart are such places as well: a null removes what the chart
// has, and the server stores it (measured). Elsewhere the server may refuse a null that a schema does not allow.
var (
	literals          = map[string]bool{"default": true, "example": true, "enum": true}
	helmLiterals      = map[string]bool{"values": true}
	argoLiterals      = map[string]bool{"valuesObject": true}
	argoKindsOfValues = map[string]bool{"Application": true, "ApplicationSet": true}
)

// literalsOf are those of an opaque kind.
func literalsOf(gvk object.GVK) map[string]bool {
	switch {
	case gvk.Group == "helm.toolkit.fluxcd.io" && gvk.Kind == "HelmRelease":
		return helmLiterals
	case gvk.Group == "argoproj.io" && argoKindsOfValues[gvk.Kind]:
		return argoLiterals
	}
	return literals
}

// quantities are maps whose values are resource quantities; quantityFields are single ones, with the field that they are in.
var (
	quantities = map[string]bool{
		"limits": true, "requests": true, "capacity": true, "hard": true, "overhead": true, "podFixed": true, "default": true,
		"defaultRequest": true, "max": true, "min": true, "maxLimitRequestRatio": true,
	}
	quantityFields = map[string]bool{
		"emptyDir.sizeLimit": true, "target.averageValue": true, "target.value": true, "resourceFieldRef.divisor": true,
		"scaleUp.tolerance": true, "scaleDown.tolerance": true,
		".maximumVolumeSize": true, ".capacity": true, // CSIStorageCapacity
	}
)

// canonical writes a quantity as the server does ("1000m" is "1"). What is no quantity stays: the server will say so.
func canonical(v any) any {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return v
	}
	q, err := resource.ParseQuantity(strings.TrimSpace(text)) // as the server decodes it
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
