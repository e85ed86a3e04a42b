package rules

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func caBundlePlaceholder() rule {
	return rule{Rule: Rule{
		ID: "ca-bundle-placeholder", Severity: Error, Fixable: true,
		Title: "Git names a caBundle that a controller writes",
		Reason: "The bundle of a webhook, an aggregated API or a CRD's conversion is written in the cluster, by cert-manager or by the program behind it. " +
			"A placeholder in Git (\"\", Cg==) is a conflict with that writer at each apply, and by force it leaves the API server without a certificate " +
			"to trust: every call fails until the injector has written again. A real bundle holds until the certificate is renewed.",
		Remedy: "Leave caBundle out of Git: an apply that does not name it keeps what is there.",
		Source: "https://cert-manager.io/docs/concepts/ca-injector/; measured on kube-apiserver 1.37: left out it is kept, \"\" and Cg== are a conflict " +
			"with cert-manager-cainjector",
	}, check: (*checker).caBundlePlaceholder}
}

func (j *checker) caBundlePlaceholder() []Finding {
	var out []Finding
	for u, o := range j.objects() {
		for _, b := range bundles(o) {
			if f, ok := j.bundle(o, b); ok {
				f.Unit, f.Object, f.Path, f.Remedy = u.Name(), o.ID, b.path, "leave out caBundle"
				f.Place = j.files.place(u, o, b.path)
				out = append(out, f)
			}
		}
	}
	return out
}

// bundle is a caBundle that an object names.
type bundle struct {
	path     field.Path
	position field.Path // the same by position, as claims have it of an object that no server has seen
	text     string
}

func bundles(o desired.Object) []bundle {
	switch o.GVK.Group + "/" + o.GVK.Kind {
	case "admissionregistration.k8s.io/MutatingWebhookConfiguration", "admissionregistration.k8s.io/ValidatingWebhookConfiguration":
		return bundlesOf(o)
	case "apiregistration.k8s.io/APIService":
		return withText(o, bundle{path: field.NewPath("spec", "caBundle")})
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return withText(o, bundle{path: field.NewPath("spec", "conversion", "webhook", "clientConfig", "caBundle")})
	}
	return nil
}

func bundlesOf(o desired.Object) []bundle {
	var out []bundle
	list, _ := o.Data.At("webhooks").([]any)
	for i, v := range list {
		hook, _ := v.(map[string]any)
		in := func(e field.Element) field.Path {
			return slices.Concat(field.NewPath("webhooks"), field.Path{e}, field.NewPath("clientConfig", "caBundle"))
		}
		out = append(out, withText(o, bundle{path: in(field.KeyElement(hook, []string{"name"})), position: in(field.Element{Index: &i})})...)
	}
	return out
}

// withText is the bundle with its text, if the object has it.
func withText(o desired.Object, b bundle) []bundle {
	if b.position == nil {
		b.position = b.path
	}
	v, there := field.ValueAt(o.Data, b.position)
	if !there {
		return nil
	}
	b.text, _ = v.(string)
	return []bundle{b}
}

// bundle judges one: a placeholder is always wrong; a certificate is where the object asks an injector for one.
func (j *checker) bundle(o desired.Object, b bundle) (Finding, bool) {
	by := j.injector(o, b)
	switch {
	case filledIn.MatchString(b.text):
		return Finding{}, false // a variable of the app's, whose value is not in these files
	case !isBundle(b.text):
		return Finding{Message: fmt.Sprintf("%s %s: caBundle holds no certificate%s", o.ID.Kind, o.ID.Name, by)}, true
	case by != "":
		return Finding{
			Severity: Warning, Message: fmt.Sprintf("%s %s: a caBundle is in Git%s: Git undoes the next certificate", o.ID.Kind, o.ID.Name, by),
		}, true
	}
	return Finding{}, false
}

// bySign is the entry that a placeholder alone is the evidence for: it names no controller.
const bySign = "ca-injected"

// injector returns the controller that writes the bundle because the object asks for it; empty if there is none.
func (j *checker) injector(o desired.Object, b bundle) string {
	for _, c := range j.catalogue.On(claim.Subject{Desired: o.Data}, nil) {
		if c.Path.Equals(b.position) && c.Certainty == claim.Annotated && c.Entry != bySign {
			_, why, _ := strings.Cut(c.Evidence, ": ")
			return fmt.Sprintf(", and %s writes it (%s)", c.Who, why)
		}
	}
	return ""
}

// isBundle reports whether the text is one certificate or more in PEM, in base64 as the API has it.
func isBundle(text string) bool {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return false
	}
	block, _ := pem.Decode(data)
	return block != nil
}
