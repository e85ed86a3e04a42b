package decide

import (
	"fmt"
	"math"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// illegalValue says of a field that is ceded to a claimant that the API server would refuse Git's value of it, and why; empty where
// nothing shows that. A ceded field is in nothing that is sent, so no answer of the API server says it.
func illegalValue(in Input) string {
	if in.Policy.Claims != policy.ClaimsCede {
		return ""
	}
	for _, c := range in.Claims {
		git, _ := field.ValueAt(in.Desired, c.Path)
		if git == nil || c.Placeholder(git) {
			continue
		}
		if why := illegal(in, c, git); why != "" {
			return fmt.Sprintf("%s in Git is %s: the API server refuses such a value; correct it in Git, or remove it, since the field is ceded to %s", field.PathString(c.Path), why, c.Name())
		}
	}
	return ""
}

// illegal says what is wrong with Git's value of a claimed field. The value itself is no part of it: it may come from a Secret.
func illegal(in Input, c claim.Claim, git any) string {
	live, there := field.ValueAt(in.Live, c.Path)
	switch {
	case !there && !c.Counts():
		return ""
	case !c.Counts():
		return otherSort(git, live)
	}
	n, isWhole := wholeNumber(git)
	switch {
	case !isWhole:
		return jsonTypeOf(git) + ", not a whole number"
	case builtInCount(in) && (n < 0 || n > math.MaxInt32):
		return fmt.Sprintf("%d, not between 0 and %d", n, math.MaxInt32)
	}
	return ""
}

// otherSort compares Git's value with a live one, which the API server has taken. Texts and numbers are one sort: a quantity can be either.
func otherSort(git, live any) string {
	scalar := func(sort string) string {
		if sort == aText || sort == aNumber {
			return "a scalar"
		}
		return sort
	}
	want, have := jsonTypeOf(git), jsonTypeOf(live)
	if live == nil || scalar(want) == scalar(have) {
		return ""
	}
	return want + ", not " + have
}

const (
	aText   = "a string"
	aNumber = "a number"
)

// jsonTypeOf names the type of a JSON value.
func jsonTypeOf(v any) string {
	switch v.(type) {
	case string:
		return aText
	case bool:
		return "a boolean"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return aNumber
}

func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}
