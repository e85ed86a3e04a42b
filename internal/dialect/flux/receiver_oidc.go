package flux

import (
	"fmt"
	"net/url"
	"regexp"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// The bounds of what a Receiver of the type generic-oidc says: all of it is evaluated for each webhook.
const (
	mostProviders   = 20
	mostOfAProvider = 50 // variables, and validations
)

// identifier is what the name of a variable may be in CEL.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// issuers reads the issuers of the tokens of a Receiver's senders.
func (r *reading) issuers(spec notificationv1.ReceiverSpec) []webhook.Issuer {
	const field = "spec.oidcProviders"
	switch {
	case spec.Type != notificationv1.GenericOIDCReceiver:
		return nil
	case len(spec.OIDCProviders) == 0:
		r.Problem(field, "required")
	case len(spec.OIDCProviders) > mostProviders:
		r.Problem(field, "want %d at most, not %d", mostProviders, len(spec.OIDCProviders))
		return nil
	}
	seen := map[string]bool{}
	var out []webhook.Issuer
	for i, p := range spec.OIDCProviders {
		at := fmt.Sprintf("%s[%d]", field, i)
		u, err := url.Parse(p.IssuerURL)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
			r.Problem(at+".issuerURL", "want the https:// URL of an issuer, without credentials and query")
		case seen[p.IssuerURL]:
			r.Problem(at+".issuerURL", "is named twice")
		case u.Scheme == "http":
			r.Note("%s.issuerURL is without TLS: who can change the traffic to it can make tokens", at)
		}
		seen[p.IssuerURL] = true
		out = append(out, r.issuer(at, p))
	}
	return out
}

func (r *reading) issuer(at string, p notificationv1.OIDCProvider) webhook.Issuer {
	out := webhook.Issuer{URL: p.IssuerURL, Audience: p.GetAudience()}
	switch {
	case len(p.Validations) == 0:
		r.Problem(at+".validations", "required: an issuer gives tokens to many; say of whom you take webhooks")
	case len(p.Validations) > mostOfAProvider || len(p.Variables) > mostOfAProvider:
		r.Problem(at, "want %d variables and validations each at most", mostOfAProvider)
		return out
	}
	for i, v := range p.Variables {
		field := fmt.Sprintf("%s.variables[%d]", at, i)
		if !identifier.MatchString(v.Name) {
			r.Problem(field+".name", "want letters, digits and _")
		}
		out.Variables = append(out.Variables, webhook.Variable{Name: v.Name, Value: r.expression(field+".expression", v.Expression, cel.CompileVariable)})
	}
	for i, v := range p.Validations {
		field := fmt.Sprintf("%s.validations[%d]", at, i)
		if v.Message == "" {
			r.Problem(field+".message", "required")
		}
		out.Validations = append(out.Validations, webhook.Validation{Holds: r.expression(field+".expression", v.Expression, cel.CompileClaim), Message: v.Message})
	}
	return out
}
