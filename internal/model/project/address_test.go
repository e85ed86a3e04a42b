package project

import "testing"

// TestARepositoryIsJudgedAsItIsFetched: percent-encoding is decoded before, and a path that hasDotSegments leads elsewhere.
func TestARepositoryIsJudgedAsItIsFetched(t *testing.T) {
	p := Project{Name: "p", Repositories: []string{"https://git.example/shop/*", "https://git.example/all/**", "!https://git.example/shop/secret"}}
	for repository, want := range map[string]bool{
		"https://git.example/shop/web":                true,
		"https://git.example/shop/web.git":            true,
		"https://git.example/all/a/b":                 true,
		"https://git.example/shop/%77eb":              true,
		"https://git.example/shop/%73ecret":           false,
		"https://git.example/shop/..%2Fother%2Frepo":  false,
		"https://git.example/shop/%2e%2e/shop/web":    false,
		"https://git.example/all/../other":            false,
		"https://git.example/all/a/./b":               false,
		"https://user:word@git.example/shop/web":      true,
		"https://user:word@git.example/shop/%73ecret": false,
	} {
		if why := p.Refusal(Member{Repositories: []string{repository}}); (why == "") != want {
			t.Errorf("%s: %q", repository, why)
		}
	}
}
