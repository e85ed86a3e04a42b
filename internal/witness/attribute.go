package witness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/ownership"
)

// Case is one field about which it is asked.
type Case struct {
	Path  field.Path
	Live  any  // what it holds; nil for what is not there
	Keeps bool // our own entry owns it still, though it holds another value than we settled: no request that names it does that
	UID   string
	Put   time.Time // when truce last put the field back: what was written before explains nothing
	Now   time.Time
	Claim claim.Claim
	// Writer is what managedFields say.
	Writer ownership.Writer
	Hasher ownership.Hasher
}

// Attribute joins what the witnesses say. Who saw the write itself goes first; then who is recorded as the owner; then what was told
// of the same value before; then whom a claim and Events point to.
func Attribute(c Case, s Statements) ownership.Writer {
	if w, ok := c.seen(s.Records); ok {
		return w
	}
	w := c.byClaim(c.admitted(c.Writer), ownership.Writer{})
	if t, ok := c.told(s.Told, w); ok {
		return t
	}
	w = c.byEvents(s.Events, w)
	if s.Lacks != "" && w.Evidence != ownership.Recorded {
		w.Because = append(slices.Clone(w.Because), s.Lacks)
	}
	return w
}

// seen goes by the newest record of a write that touched the field.
func (c Case) seen(records []Record) (ownership.Writer, bool) {
	path := field.String(c.Path)
	var live uint64
	if c.Live != nil {
		live = c.Hasher.Value(c.Live)
	}
	for _, r := range records {
		if c.UID != "" && r.UID != c.UID || !r.At.After(c.Put) || c.UID == "" && r.Operation != deleted {
			continue
		}
		how, change := r.touched(c.pathIn(r, path), live)
		switch {
		case how == apart:
			continue
		case how == other, how == near && c.contradicts(r):
			return ownership.Writer{}, false // somebody has written since, whom it did not see
		}
		return c.witnessed(r, change), true
	}
	return ownership.Writer{}, false
}

// pathIn is the path by which a record names the field: a Scale names the number by its own, wherever the object keeps it.
func (c Case) pathIn(r Record, path string) string {
	if r.Subresource == "scale" && c.Claim.Counts() && c.Path.Equals(c.Claim.Path) {
		return replicas
	}
	return path
}

// slack is how far the clocks of truce and the API server may be apart, and how coarse times of managedFields are.
const slack = 3 * time.Second

// contradicts reports whether managedFields tell of a later write than the record's, or of another's.
func (c Case) contradicts(r Record) bool {
	w := c.Writer
	if w.Evidence != ownership.Recorded {
		return false
	}
	return w.Time.After(r.At.Add(slack)) || r.Manager != "" && w.Manager != "" && w.Manager != r.Manager
}

// witnessed is the one who sent a recorded write.
func (c Case) witnessed(r Record, change Change) ownership.Writer {
	w := ownership.Writer{
		Name: r.sender(), Manager: r.Manager, Operation: r.Operation, Subresource: r.Subresource, User: r.User, Time: r.At,
		Person: isPerson(r.Manager, r.User), Evidence: ownership.Recorded, Because: []string{r.testimony()},
	}
	if m := c.Writer; r.Manager == "" && m.Evidence == ownership.Recorded && m.Subresource == r.Subresource && !change.Mutated {
		w.Name, w.Manager, w.Operation = m.Name, m.Manager, m.Operation
		w.Person = isPerson(m.Manager, r.User)
	}
	if change.Mutated {
		return ownership.Writer{
			Name: Admission, During: r.as(), Operation: r.Operation, Time: r.At, Evidence: ownership.Recorded,
			Because: append(w.Because, "admission: the sender did not write this field; the server's managedFields show that"),
		}
	}
	w.Because = append(w.Because, c.Writer.Because...)
	return c.byClaim(w, w)
}

// Admission is the name of a writer of whom only that is known: that it changes what others send.
const Admission = "a mutating webhook or policy"

func (r Record) testimony() string {
	said := "admission: " + strings.ToLower(r.Operation)
	if r.Subresource != "" {
		said += " of " + r.Subresource
	}
	said += " by user " + r.User
	if r.Manager != "" {
		said += ", fieldManager " + r.Manager
	}
	return said
}

// admitted names admission where our entry still owns a field that holds another value: a write that names the field would have
// taken it from us, and what mutating webhooks do is not recorded.
func (c Case) admitted(w ownership.Writer) ownership.Writer {
	if !c.Keeps || w.Evidence == ownership.Recorded {
		return w
	}
	out := ownership.Writer{
		Name: Admission, Evidence: ownership.Inferred, Time: w.Time,
		Because: []string{"managedFields: our entry still owns the field, so no request has named it"},
	}
	if w.Evidence == ownership.Inferred {
		out.During, out.Because = w.Name, append(out.Because, w.Because...)
	}
	return out
}

// shared are the field managers under which a Kubernetes distribution's own controllers scale: upstream they are one process, and
// k3s and MicroK8s are one binary.
func shared(name string) bool {
	switch name {
	case "kube-controller-manager (scale)", "k3s (scale)", "kubelite (scale)":
		return true
	}
	return false
}

// scalers are the users as whom the HPA controller writes: its own account, or the process's.
func scalers(user string) bool {
	switch user {
	case "system:serviceaccount:kube-system:horizontal-pod-autoscaler", "system:kube-controller-manager", "system:k3s-controller":
		return true
	}
	return false
}

// byClaim names the claimant as the writer where the server recorded the scale subresource or nothing at all, and the value is one
// that the claimant writes; but not where a witness saw somebody else (seen).
func (c Case) byClaim(w, seen ownership.Writer) ownership.Writer {
	if n, ok := c.Live.(int64); !ok || !c.Claim.Counts() || n < c.Claim.Min || n > c.Claim.Max {
		return w
	}
	switch {
	case seen.User != "" && !scalers(seen.User):
		return w
	case seen.User == "" && w.Evidence == ownership.Recorded && !shared(w.Name):
		return w
	}
	out := w
	out.Name, out.Person, out.During = c.Claim.Name(), false, ""
	if w.Evidence != ownership.Recorded {
		out.Evidence, out.Manager, out.Operation, out.Subresource = ownership.Inferred, "", "", ""
		out.Because = nil
	}
	out.Because = append(slices.Clone(out.Because), fmt.Sprintf("intent: %s writes from %d to %d", c.Claim.Name(), c.Claim.Min, c.Claim.Max))
	return out
}

// told takes over what was said before of the same value, where that knows more and nobody is recorded to have written since.
func (c Case) told(before []Told, w ownership.Writer) (ownership.Writer, bool) {
	path := field.String(c.Path)
	for _, t := range before {
		if t.Path != path {
			continue
		}
		same := field.Equal(t.Live, c.Live)
		more := t.Writer.User != "" && w.User == "" || t.Writer.Evidence == ownership.Recorded && w.Evidence != ownership.Recorded
		if !same || !more || c.Put.After(t.Writer.Time) || w.Manager != "" && w.Evidence == ownership.Recorded && t.Writer.Manager != "" && t.Writer.Manager != w.Manager {
			return w, false
		}
		return t.Writer, true
	}
	return w, false
}

// isPerson reports whether a person sits behind the manager: a tool that people type into, unless a controller's account uses it.
func isPerson(manager, user string) bool {
	for _, machine := range []string{"system:serviceaccount:", "system:node:", "system:kube-"} {
		if strings.HasPrefix(user, machine) {
			return false
		}
	}
	return ownership.IsPerson(manager)
}
