package ignore_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/ignore"
)

func TestAGlobMatchesAsArgoCDsDo(t *testing.T) {
	for glob, texts := range map[string]struct{ yes, no string }{
		"apps":         {"apps", "app appsx xapps"},
		"*":            {"a a.b a/b", ""},
		"*.io":         {"cert-manager.io .io", "cert-managerxio io"},
		"?pps":         {"apps", "pps xapps"},
		"[ab]pps":      {"apps bpps", "cpps"},
		"[!ab]pps":     {"cpps", "apps"},
		"[a-c]x":       {"bx", "dx"},
		"{apps,batch}": {"apps batch", "apps,batch"},
		"{a{b,c},d}":   {"ab ac d", "a"},
		`a\*`:          {"a*", "ab"},
		"a,b":          {"a,b", "a"},
		"Dép*":         {"Déploiement", "Dep"},
	} {
		re, err := ignore.GlobPattern(glob)
		if err != nil {
			t.Errorf("%s: %v", glob, err)
			continue
		}
		for text := range strings.FieldsSeq(texts.yes) {
			if !re.MatchString(text) {
				t.Errorf("%s does not match %s", glob, text)
			}
		}
		for text := range strings.FieldsSeq(texts.no) {
			if re.MatchString(text) {
				t.Errorf("%s matches %s", glob, text)
			}
		}
	}
	core, err := ignore.GlobPattern("")
	if err != nil || !core.MatchString("") || core.MatchString("apps") {
		t.Errorf("the empty glob is the core group: %v", err)
	}
	for _, bad := range []string{"[", "[a", "{", "{a", "}", "a}", `\`, "[b-a]", "[]", "{a}}{"} {
		if _, err := ignore.GlobPattern(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*", "a?[b-c]{d,e}", `\`, "[!]", "{{,},}", "[^]", "[[]", "é*"} {
		f.Add(s, "abc")
	}
	f.Fuzz(func(t *testing.T, glob, text string) {
		re, err := ignore.GlobPattern(glob)
		if err != nil {
			return
		}
		if !strings.ContainsAny(glob, `*?[{\`) && re.MatchString(text) != (glob == text) {
			t.Errorf("%q and %q", glob, text)
		}
	})
}

func FuzzAnnotation(f *testing.F) {
	for _, s := range []string{"/spec/replicas", "/a,/b~1c", ",,", "/", "*", "/spec/template/spec/containers/0/image", "/metadata/labels", "/0/-/00"} {
		f.Add(s)
	}
	s := sight(f)
	f.Fuzz(func(t *testing.T, text string) {
		s.Desired.Metadata()["annotations"] = map[string]any{ignore.PointersAnnotation: text}
		rs, err := ignore.Rules(nil).On(s.Desired)
		if err != nil {
			return
		}
		for _, c := range rs.Covers(s) {
			switch c.Path.String() {
			case "", ".", ".apiVersion", ".kind", ".metadata", ".metadata.name", ".metadata.namespace", ".metadata.labels":
				t.Errorf("%q covers %s", text, c.Path)
			}
		}
		rs.Notes([]ignore.Tally{rs.Tally(s)})
	})
}
