package glob_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/glob"
)

func TestPatterns(t *testing.T) {
	for name, c := range map[string]struct {
		pattern   string
		separator rune
		matches   []string
		others    []string
	}{
		"a star":                  {"a*", 0, []string{"a", "ab", "a/b"}, []string{"b"}},
		"a star with a separator": {"a/*", '/', []string{"a/b"}, []string{"a/b/c", "a"}},
		"two stars":               {"a/**", '/', []string{"a/b", "a/b/c"}, []string{"b"}},
		"one character":           {"a?c", '/', []string{"abc"}, []string{"a/c", "ac"}},
		"alternatives":            {"{a,b}.yaml", 0, []string{"a.yaml", "b.yaml"}, []string{"c.yaml", "ayaml"}},
		"a class":                 {"[!a]b", 0, []string{"bb"}, []string{"ab"}},
		"quoted":                  {`a\*`, 0, []string{"a*"}, []string{"ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := glob.Compile(c.pattern, c.separator)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range c.matches {
				if !compiled.MatchString(text) {
					t.Errorf("%q is not matched", text)
				}
			}
			for _, text := range c.others {
				if compiled.MatchString(text) {
					t.Errorf("%q is matched", text)
				}
			}
		})
	}
	if _, err := glob.Compile("{a", 0); err == nil {
		t.Error("a pattern that is not closed is no error")
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("**/{a,b}[!c]?", "x/a")
	f.Fuzz(func(_ *testing.T, pattern, text string) {
		if compiled, err := glob.Compile(pattern, '/'); err == nil && compiled != nil {
			compiled.MatchString(text)
		}
	})
}
