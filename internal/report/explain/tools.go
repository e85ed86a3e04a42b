package explain

import "fmt"

// tools says whose marks an object bears that no app of truce's manages: other tools name themselves in labels and annotations.
func (s Subject) tools() []string {
	var out []string
	if name, ok := s.Live.Object().Annotation("meta.helm.sh/release-name"); ok { // helm.sh/docs/topics/charts: adopted and made objects
		namespace, _ := s.Live.Object().Annotation("meta.helm.sh/release-namespace")
		out = append(out, fmt.Sprintf("It has the annotation of Helm's release %s/%s.", namespace, name))
	}
	for _, by := range [][2]string{{"Kustomization", "kustomize.toolkit.fluxcd.io"}, {"HelmRelease", "helm.toolkit.fluxcd.io"}} {
		if name, ok := s.Live.Object().Label(by[1] + "/name"); ok {
			namespace, _ := s.Live.Object().Label(by[1] + "/namespace")
			out = append(out, fmt.Sprintf("It has the labels of Flux's %s %s/%s.", by[0], namespace, name))
		}
	}
	if id, ok := s.Live.Object().Annotation("argocd.argoproj.io/tracking-id"); ok {
		out = append(out, fmt.Sprintf("It has Argo CD's tracking id %s.", id))
	}
	if _, ok := s.Live.Object().Annotation("kubectl.kubernetes.io/last-applied-configuration"); ok {
		out = append(out, "It is applied with kubectl apply (annotation last-applied-configuration).")
	}
	return out
}
