package preflight

import "testing"

// TestTheStateOfAControllerIsLookedForWhereItsFlagsSay is about its Lease, and the permissions of the Role truce-home.
func TestTheStateOfAControllerIsLookedForWhereItsFlagsSay(t *testing.T) {
	for want, flags := range map[string][][2]string{
		"truce-system": nil,
		"team-a":       {{"--namespace", "team-a,team-b"}},
		"truce-team-a": {{"--namespace", "team-a"}, {"--runtime-namespace", "truce-team-a"}},
		"elsewhere":    {{"--runtime-namespace", "elsewhere"}},
	} {
		x := &inspection{}
		for _, f := range flags {
			x.flag(&Installation{}, f[0], f[1])
		}
		if got := x.home("truce-system"); got != want {
			t.Errorf("%v: %s, want %s", flags, got, want)
		}
	}
}
