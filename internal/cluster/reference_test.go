package cluster_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/identity"
)

func TestAReferenceNamesAServerOverHTTPS(t *testing.T) {
	for _, c := range []struct {
		data map[string]string
		want string
	}{
		{map[string]string{}, "key provider is missing: want generic"},
		{map[string]string{"provider": "aws", "address": "there.example"}, "key cluster is missing"},
		{map[string]string{"provider": "gcp", "cluster": "c", "address": "http://there.example"}, "key address is not https"},
		{map[string]string{"provider": "Generic"}, `key provider: want generic, aws, azure or gcp, not "Generic"`},
		{map[string]string{"provider": "generic"}, "key address is missing"},
		{map[string]string{"provider": "generic", "address": "http://there.example"}, "key address is not https"},
		{map[string]string{"provider": "generic", "address": "https://"}, "key address is no URL"},
		{map[string]string{"provider": "generic", "address": "https://canary@there.example"}, "holds more than"},
		{map[string]string{"provider": "generic", "address": "there.example", "ca.crt": "canary"}, "key ca.crt holds no certificate"},
		{map[string]string{"provider": "generic", "address": "there.example", "serviceAccountName": "a:b"}, "is no name of a service account"},
	} {
		if _, err := cluster.ParseReference(c.data); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %v, want %q", c.data, err, c.want)
		}
	}
}

func TestTheAddressIsTheAudienceWhereNoneIsNamed(t *testing.T) {
	r, err := cluster.ParseReference(map[string]string{"provider": "generic", "address": "there.example:6443"})
	if err != nil || r.Address != "https://there.example:6443" || strings.Join(r.Audiences, " ") != "there.example:6443" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = cluster.ParseReference(map[string]string{"provider": "generic", "address": "https://there.example", "audiences": "a\r\nb\n\n", "serviceAccountName": "pusher"})
	if err != nil || strings.Join(r.Audiences, " ") != "a b" || r.Account != "pusher" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReferencesAreSharedByTheSameAccountAlone(t *testing.T) {
	r, err := cluster.ParseReference(map[string]string{"provider": "generic", "address": "there.example"})
	if err != nil {
		t.Fatal(err)
	}
	home, err := cluster.ParseKubeconfig([]byte(inline))
	if err != nil {
		t.Fatal(err)
	}
	client, err := home.Connect(cluster.RemoteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := identity.Account{Namespace: "a", Name: "pusher"}, identity.Account{Namespace: "b", Name: "pusher"}
	first, again, other := r.Kubeconfig(client, a).Digest(), r.Kubeconfig(client, a).Digest(), r.Kubeconfig(client, b).Digest()
	if first != again || first == other {
		t.Error("the digest is not that of the reference and the account")
	}
}

func FuzzParseReference(f *testing.F) {
	f.Add("https://there.example:6443", "", "a\nb")
	f.Add("there.example", "-----BEGIN CERTIFICATE-----", "")
	f.Fuzz(func(t *testing.T, address, ca, audiences string) {
		r, err := cluster.ParseReference(map[string]string{"provider": "generic", "address": address, "ca.crt": ca, "audiences": audiences})
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.ToLower(r.Address), "https://") || len(r.Audiences) == 0 {
			t.Errorf("connects to %s for %q", r.Address, r.Audiences)
		}
	})
}
