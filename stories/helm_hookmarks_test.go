package stories

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestCommonMetadataIsPutOnHooks, unless spec.postRenderStrategy leaves them as they are.
func TestCommonMetadataIsPutOnHooks(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfFailures)
	const marks = "  commonMetadata: {labels: {team: shop}, annotations: {note: of all}}\n"
	for name, strategy := range map[string]string{"combined": "", "apart": "  postRenderStrategy: separate\n", "plain": "  postRenderStrategy: nohooks\n"} {
		w.release(name, marks+strategy)
		w.released(name, 1, "1.0.0")
		job := w.get(jobs, name+"-after")
		got, want := [2]string{job.GetLabels()["team"], job.GetAnnotations()["note"]}, [2]string{"shop", "of all"}
		if name == "plain" {
			want = [2]string{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the hook's label and annotation (-want +got):\n%s", name, diff)
		}
		if object := w.get(configmaps, name); object.GetLabels()["team"] != "shop" || object.GetAnnotations()["note"] != "of all" {
			t.Errorf("%s: the object is %v", name, object.Object)
		}
	}
}
