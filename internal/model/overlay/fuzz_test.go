package overlay

import (
	"strings"
	"testing"
)

// An override that is accepted says something about a named image, and nothing that is no tag or digest gets through.
func FuzzParseImage(f *testing.F) {
	for _, text := range []string{"web:2", "web=new:2@" + digest, "a=*:*@*", "=", "@", ":", "a/b:1/c", "a=b=c:d", "*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseImage(text)
		if err != nil {
			return
		}
		if m.Name == "" || strings.ContainsAny(m.Name, "= \t\n") {
			t.Errorf("%q names %q", text, m.Name)
		}
		for _, v := range []*string{m.NewTag, m.Digest} {
			if v != nil && strings.ContainsAny(*v, "@/* \n") {
				t.Errorf("%q has the tag or digest %q", text, *v)
			}
		}
		if again, err := ParseImage(m.String()); err != nil || again.String() != m.String() {
			t.Errorf("%q is written %q, which is read %q, %v", text, m, again, err)
		}
		if entry := m.Over(map[string]any{"name": m.Name}); entry["name"] != m.Name {
			t.Errorf("%q makes %v", text, entry)
		}
	})
}

func FuzzParseReplica(f *testing.F) {
	for _, text := range []string{"web=3", "web=-1", "a=b=1", "=", "web=0x3", "web= 3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseReplica(text); err == nil && (r.Name == "" || r.Count < 0 || !strings.HasPrefix(text, r.Name+"=")) {
			t.Errorf("%q is %+v", text, r)
		}
	})
}
