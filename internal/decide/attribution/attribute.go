package attribution

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Case is one field about which it is asked.
type Case struct {
	Path field.Path
	Live redact.Raw // what it holds; nil for what is not there
	// Hold says what managedFields show of the field beside who wrote it.
	Hold        Hold
	UID         string
	CorrectedAt time.Time // when truce last put the field back: what was written before explains nothing
	// Before is when the field was last seen to hold another value; zero where it was not.
	Before time.Time
	Now    time.Time
	Scaler ownership.Scaler // that has a claim to the field
	// Writer is what managedFields say; Sender whose request the one write was that has changed the field, where there was one.
	Writer, Sender ownership.Writer
	Hasher         ownership.Hasher
}

// Hold says whether anyone's request can have written a field. The zero value is: it can.
type Hold string

// The values of Hold.
const (
	Untouched Hold = "untouched" // each owner's entry is as it was when the field held another value: no request has named it
	Ours      Hold = "ours"      // truce, or its handover, owns the value: no other writer has written it since
)

// Attribute joins what the witnesses say. Who saw the write itself goes first; then what was said of the same value when it was first seen;
// then who is recorded as the owner; then whom a claim and Events point to.
func Attribute(c Case, s Statements) ownership.Writer {
	if w, ok := c.fromRecords(s.Records); ok {
		return c.earlier(w, s.Earlier)
	}
	base := c.admitted(c.Writer)
	before, here := c.fromThisProcess(s.Earlier)
	if here {
		base = before
	}
	w := c.byScaler(base, ownership.Writer{})
	if t, ok := c.fromEarlier(s.Earlier, w); ok && !here {
		w = t
	}
	w = c.earlier(c.byEvents(s.Events, w), s.Earlier)
	if s.Unavailable != "" && w.Evidence != ownership.Recorded {
		w = because(w, s.Unavailable)
	}
	return w
}

// because adds a sentence, if it is not there.
func because(w ownership.Writer, said string) ownership.Writer {
	if !slices.Contains(w.Because, said) {
		w.Because = append(slices.Clone(w.Because), said)
	}
	return w
}

// fromThisProcess returns what this process said when it saw the field change to its value: it knew then what had been there before.
func (c Case) fromThisProcess(before []EarlierAnswer) (ownership.Writer, bool) {
	t, ok := c.earlierOf(before)
	return t.Writer, ok && t.SameProcess
}

// earlier takes the time from what was said when the same value was first seen, where the same entry bears a later one by now.
func (c Case) earlier(w ownership.Writer, before []EarlierAnswer) ownership.Writer {
	if t, ok := c.earlierOf(before); ok && w.AtLatest && t.Writer.Manager == w.Manager && !t.Writer.Time.IsZero() && t.Writer.Time.Before(w.Time) {
		w.Time, w.AtLatest = t.Writer.Time, t.Writer.AtLatest
	}
	return w
}

// fromRecords goes by the newest record of a write that touched the field.
func (c Case) fromRecords(records []Record) (ownership.Writer, bool) {
	path := field.PathString(c.Path)
	var live uint64
	if !c.Live.IsNil() {
		live = c.Hasher.Value(c.Live.Reveal())
	}
	for _, r := range records {
		if c.UID != "" && r.UID != c.UID || !r.At.After(c.CorrectedAt) || c.UID == "" && r.Operation == updated {
			continue
		}
		if c.UID == "" && r.Operation == created {
			return ownership.Writer{}, false // who has deleted that one it did not see
		}
		how, change := r.touched(c.pathIn(r, path), live)
		switch {
		case how == apart:
			continue
		case how == other, how == near && c.contradicts(r):
			return ownership.Writer{}, false // there is a later write that it did not see
		}
		return c.witnessed(r, change), true
	}
	return ownership.Writer{}, false
}

// pathIn is the path by which a record names the field: a Scale names the number by its own, wherever the object keeps it.
func (c Case) pathIn(r Record, path string) string {
	if r.Subresource == "scale" && c.Scaler.Writes() && c.Path.Equals(c.Scaler.Path) {
		return replicas
	}
	return path
}

// slack is how far the clocks of truce and the API server may be apart, and how coarse times of managedFields are.
const slack = 3 * time.Second

// contradicts reports whether managedFields record a later write than the record's, or of another's.
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
			Name: Admission, During: r.account(), Operation: r.Operation, Time: r.At, Evidence: ownership.Recorded,
			Because: append(w.Because, "admission: the sender did not write this field; the server's managedFields show that"),
		}
	}
	w.Because = append(w.Because, c.Writer.Because...)
	return c.byScaler(w, w)
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

// admitted names admission where the field has changed and no request has named it: what mutating webhooks and policies do is not recorded.
func (c Case) admitted(w ownership.Writer) ownership.Writer {
	if c.Hold != Untouched {
		return w
	}
	out := ownership.Writer{
		Name: Admission, Evidence: ownership.Inferred, Time: c.Sender.Time, AtLatest: c.Sender.AtLatest,
		Because: []string{"managedFields: the entries that own the field are as they were, so no request has named it"},
	}
	if c.Sender.Evidence == ownership.Inferred {
		out.During, out.Because = c.Sender.Name, append(out.Because, c.Sender.Because...)
	}
	return out
}

// isSharedName are the field managers under which a Kubernetes distribution's own controllers scale: upstream they are one process, and
// k3s and MicroK8s are one binary.
func isSharedName(name string) bool {
	switch name {
	case "kube-controller-manager (scale)", "k3s (scale)", "kubelite (scale)":
		return true
	}
	return false
}

// IsHPAWrite reports whether managedFields show a write as the HPA controller's leave one: everyone may call themselves so.
func IsHPAWrite(w ownership.Writer) bool { return isSharedName(w.Name) }

// isScaler are the users as whom the HPA controller writes: its own account, or the process's.
func isScaler(user string) bool {
	switch user {
	case "system:serviceaccount:kube-system:horizontal-pod-autoscaler", "system:kube-controller-manager", "system:k3s-controller":
		return true
	}
	return false
}

// byScaler names the autoscaler as the writer where the witness saw its user, or where its own status records this write. A field manager's name
// alone proves nothing: everyone names themselves.
func (c Case) byScaler(w, seen ownership.Writer) ownership.Writer {
	if n, ok := c.Live.Reveal().(int64); !ok || !c.Scaler.Writes() || n < c.Scaler.Min || n > c.Scaler.Max || c.Hold != "" || w.Name == Admission {
		return w
	}
	out := w
	switch {
	case seen.User != "" && !isScaler(seen.User):
		return w
	case seen.User != "":
	case w.Evidence == ownership.Recorded && !isSharedName(w.Name), !c.scaled(w):
		return w
	case w.Evidence != ownership.Recorded:
		out = ownership.Writer{Evidence: ownership.Inferred}
	case c.Before.IsZero():
		out.Evidence = ownership.Inferred
	}
	out.Name, out.Person, out.During = c.Scaler.Name, false, ""
	out = because(out, fmt.Sprintf("intent: %s writes from %d to %d", c.Scaler.Name, c.Scaler.Min, c.Scaler.Max))
	if seen.User == "" {
		out.Time, out.AtLatest = c.Scaler.At, false
		out = because(out, fmt.Sprintf("status: %s scaled to %d at %s", c.Scaler.Name, c.Scaler.To, c.Scaler.At.UTC().Format(time.RFC3339)))
	}
	return out
}

// scaled reports whether the claimant's status says that it has scaled to the live value since the field was last seen to hold another one. A
// status counts whole seconds: in the second in which the other value was seen, the field's entry must be the HPA controller's.
func (c Case) scaled(w ownership.Writer) bool {
	s, since := c.Scaler, c.Before.Unix()
	if IsHPAWrite(w) {
		since--
	}
	return !s.At.IsZero() && field.EqualValues(s.To, c.Live.Reveal()) && s.At.Unix() > since && !s.At.Before(c.CorrectedAt.Truncate(time.Second))
}

// earlierOf returns what was said of the field when it held the same value; the newest word counts.
func (c Case) earlierOf(before []EarlierAnswer) (EarlierAnswer, bool) {
	path := field.PathString(c.Path)
	i := slices.IndexFunc(before, func(t EarlierAnswer) bool { return t.Path == path })
	if i < 0 || !before[i].Live.Equal(c.Live) || c.CorrectedAt.After(before[i].Writer.Time) && !before[i].Writer.Time.IsZero() {
		return EarlierAnswer{}, false
	}
	return before[i], true
}

// fromEarlier takes over what another process has noted of the same value, where that is more than is known now.
func (c Case) fromEarlier(before []EarlierAnswer, w ownership.Writer) (ownership.Writer, bool) {
	t, ok := c.earlierOf(before)
	if !ok || t.SameProcess || writerRank(t.Writer) <= writerRank(w) {
		return w, false
	}
	another := w.Evidence == ownership.Recorded && w.Manager != "" && t.Writer.Manager != "" && t.Writer.Manager != w.Manager
	return t.Writer, !another
}

// writerRank orders writers by how much is known of them.
func writerRank(w ownership.Writer) int {
	switch {
	case w.Evidence == ownership.Recorded && w.User != "":
		return 4
	case w.Evidence == ownership.Recorded && !isSharedName(w.Name):
		return 3
	case w.Evidence == ownership.Recorded:
		return 2
	case w.Evidence == ownership.Inferred:
		return 1
	}
	return 0
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
