package values

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/decryption"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/sops"
)

// credentials are the entries of a decryption Secret that Flux hands to the SDKs of clouds and Vault.
var credentials = []string{"sops.aws-kms", "sops.azure-kv", "sops.gcp-kms", "sops.vault-token"}

// ReadKeys reads the keys of an app; nil where it decrypts nothing. notes say what of the Secret is not used.
func ReadKeys(ctx context.Context, reader live.Reader, key app.Key, d decryption.Spec) (set *keys.Set, notes []string, err error) {
	if !d.IsSet() {
		return nil, nil, nil
	}
	set = &keys.Set{App: key.String()}
	if d.Secret == "" {
		return set, nil, nil
	}
	set.Secret = key.Namespace + "/" + d.Secret
	o, err := reader.Get(ctx, object.GVK{Version: "v1", Kind: "Secret"}, object.ID{Kind: "Secret", Namespace: key.Namespace, Name: d.Secret})
	switch {
	case errors.Is(err, live.ErrNotFound):
		return nil, nil, fmt.Errorf("sops decryption Secret '%s' is not there: create it with the keys, *%s or *%s", set.Secret, sops.AgeExtension, sops.PGPExtension)
	case err != nil:
		return nil, nil, fmt.Errorf("cannot get sops decryption Secret '%s': %w", set.Secret, err)
	}
	data, err := variables.TextValues(o)
	if err != nil {
		return nil, nil, fmt.Errorf("sops decryption Secret '%s': %w", set.Secret, err)
	}
	set.Keys = map[string]string{}
	var unused []string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		switch ext := path.Ext(name); {
		case ext == sops.AgeExtension, ext == sops.PGPExtension:
			set.Keys[name] = data[name]
		case slices.Contains(credentials, name):
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		notes = append(notes, fmt.Sprintf("%s in Secret %s is not used: truce holds no SDK of a cloud or of Vault; `sops keyservice`, with credentials of its own and "+
			"--sops-keyservice, decrypts for those keys", strings.Join(unused, ", "), set.Secret))
	}
	return set, notes, nil
}
