package git

import "testing"

// Whatever git prints, each line has a commit that git has named.
func FuzzBlame(f *testing.F) {
	hash := "0123456789012345678901234567890123456789"
	f.Add([]byte(hash + " 1 1 1\nauthor A\nauthor-mail <a@b>\nauthor-time 1\nsummary s\nfilename f\n\tx\n" + hash + " 2 2\n\ty\n"))
	f.Add([]byte("author nobody\n" + hash + "\nboundary\n\t\xff\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for n, c := range parseBlame(out, map[string]bool{hash: true}) {
			if n < 0 || !hashForm.MatchString(c.Commit) || c.Oldest != (c.Commit == hash) {
				t.Errorf("line %d: %+v", n, c)
			}
		}
	})
}
