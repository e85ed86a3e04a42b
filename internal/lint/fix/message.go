package fix

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// handover says what keeps the count when the field leaves Git. Measured (reference of Flux and of kubectl): where the applier was the only
// owner of the field, dropping it leaves the API server's default, 1, whatever the autoscaler had set. With another owner of the same value it
// stays. Who applies on the client's side drops what the annotation last-applied-configuration still names.
func (m *planner) handover(f finding) string {
	kind, ns := strings.ToLower(f.Object.Kind), ""
	if f.Object.Group != "" && f.Object.Group != "apps" {
		kind += "." + f.Object.Group
	}
	if f.Object.Namespace != "" {
		ns = " -n " + f.Object.Namespace
	}
	u := m.Discovery.Units[f.at]
	i := slices.IndexFunc(u.Objects, func(o desired.Object) bool { return o.ID == f.Object })
	if i < 0 || !canExist(u.Objects[i].GVK, f.Object) {
		return "# a workload whose name in Git is none that a cluster takes, such as one with a variable: hand its count over by the name that it has there"
	}
	client := fmt.Sprintf("kubectl%s apply edit-last-applied %s/%s   # and remove %s there", ns, kind, f.Object.Name, fieldName(f.Path))
	switch {
	case u.Dialect == discover.ArgoCD && !u.AppliesServerSide(u.Objects[i].Data):
		return client
	case u.Dialect == discover.Bare:
		client = "\n" + client + ", if it is applied without --server-side"
	default:
		client = ""
	}
	gv, meta := u.Objects[i].GVK.APIVersion(), fmt.Sprintf(`"metadata":{"name":%q}`, f.Object.Name)
	body, end := "", ""
	for _, e := range f.Path {
		if e.FieldName == nil {
			return ""
		}
		body, end = body+fmt.Sprintf(`%q:`, *e.FieldName)+"{", end+"}"
	}
	body, end = strings.TrimSuffix(body, "{"), strings.TrimSuffix(end, "}")
	return fmt.Sprintf("n=$(kubectl%s get %s/%s -o jsonpath='{.%s}') &&\n"+
		"echo '{\"apiVersion\":%q,\"kind\":%q,%s,%s'\"$n\"'%s}' |\n"+
		"kubectl%s apply --server-side --field-manager=handover -f -%s",
		ns, kind, f.Object.Name, fieldName(f.Path), gv, f.Object.Kind, meta, body, end, ns, client)
}

// handovers are those of all objects from which the newest cure takes their count: all that read the edited files, which have the same finding.
func (m *planner) handovers() string {
	var out []string
	for _, f := range m.all {
		at, ok := m.unit(f)
		loses := func(e fixEffect) bool { return e.cure == m.fixes && e.at == at && e.field == fieldOf(f) }
		if !ok || !isReplicas(f.Rule) || !slices.ContainsFunc(m.effects, loses) {
			continue
		}
		if one := m.handover(finding{f, at}); one != "" && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return strings.Join(out, "\n")
}

// canExist reports whether the API server can have an object. The name of one that it refuses may be a command of a shell, and is part of no command
// that a person is to run.
func canExist(gvk object.GVK, id object.ID) bool {
	isName := func(text string) bool { return len(content.IsDNS1123Subdomain(strings.ToLower(text))) == 0 }
	return isName(gvk.Kind) && isName(gvk.Version) && (gvk.Group == "" || isName(gvk.Group)) && isName(id.Name) && (id.Namespace == "" || isName(id.Namespace))
}

// Message is the message of the commit that has the changes: what, why, and what must be done first.
func (p Plan) Message() string {
	if len(p.Fixes) == 0 {
		return ""
	}
	var b strings.Builder
	subject := strings.SplitN(p.Fixes[0].What, " from ", 2)[0]
	if len(p.Fixes) > 1 {
		subject = fmt.Sprintf("end %d conflicts with other writers", p.ended())
	}
	b.WriteString(strings.Join(strings.Fields(subject), " ") + "\n")
	var first []string
	for _, c := range p.Fixes {
		if len(p.Fixes) == 1 {
			b.WriteString("\n" + wrapText(c.Why+". ("+c.Resolves[0].Rule+")", ""))
		} else {
			b.WriteString("\n" + wrapText("- "+c.What+": "+c.Why+". ("+c.Resolves[0].Rule+")", "  "))
		}
		if c.First != "" {
			first = append(first, c.First)
		}
	}
	if len(first) > 0 {
		b.WriteString("\n" + wrapText("Before this gets to a cluster where the workload runs already: the count falls to 1 when its only owner "+
			"ceases to name it. Truce hands it over by itself. With Flux, Argo CD or kubectl, do this first:", "") + "\n")
		for _, one := range first {
			b.WriteString("    " + strings.ReplaceAll(one, "\n", "\n    ") + "\n\n")
		}
		b.WriteString(wrapText("A workload that is created again starts with 1 pod until its autoscaler acts; truce starts it with the autoscaler's minReplicas.", ""))
	}
	return b.String()
}

func (p Plan) ended() int {
	n := 0
	for _, c := range p.Fixes {
		n += len(c.Resolves)
	}
	return n
}

// wrapText breaks a paragraph at 72 columns, as mails and git do.
func wrapText(text, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > 72:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String() + "\n"
}
