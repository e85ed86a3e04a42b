package reconcile

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"sync"
	"time"
	"unique"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// record is what the engine keeps of one managed object: about a kilobyte. Git's object is kept as packed JSON text, live not at all.
type record struct {
	reconcileLock *sync.Mutex // held while the object is judged and written: one queue per object

	mu            sync.Mutex // guards what follows; never held across a request
	id            object.ID
	served        string // the version of the API that Git names; the rest of the type is in id
	owner         app.Key
	text          object.Packed // what Git wants
	sum           textSum       // of text
	previous      object.Packed // what Git wanted when the baseline was taken, while that is something else
	file          string
	digest        string // of text, comparable across processes
	line          int
	changed       bool           // text was never applied
	applied       bool           // the server holds text
	foreseen      bool           // the baseline is what a dry run said of text, which was not applied
	judged        bool           // text was compared with what is there
	forced        bool           // to be judged whatever is known: a claim on it has changed
	reserved      bool           // a run is about to judge it: its events need not enqueue it
	found         bool           // the object that we applied to was there before us, and others had added fields to it, or that is unknown
	yields        bool           // the owner only observes, as of its newest run: an app that enforces takes the object over
	request       decide.Request // of a person, until the object was judged with it
	baseline      compare.Baseline
	withheld      []field.Path // at the last apply
	memory        fight.Memory
	savedMemory   []byte // of memory, in the journal
	uid           string // of the newest answer or event that was judged
	appliedUID    string // uid of the object that we applied to; it may have been replaced
	version       uint64 // resourceVersion of the newest answer or event that was judged
	watched       uint64 // resourceVersion of the newest event; less than version as long as the watch has not shown what a read or a write has
	trusted       uint64 // resourceVersion at which an earlier process found the object to be as text wants; 0 for unknown
	fingerprint   uint64 // of that one, see live.Fingerprint
	pending       *pendingEvent
	arrived       time.Time            // of the first event that is pending
	arrivals      int                  // how many are
	past          *compare.Past        // what was seen at the last judgement; nil for nothing
	postponed     map[string]time.Time // by path: until when a finding waits to be reported
	open          map[string]time.Time // by path: since when a difference is known that is left for now
	health        health.Status        // without what pods report
	assessed      health.Rules         // by which rules
	podReport     *podReport           // nil for an object that works
	ignored       ignore.Tally         // what came of the rules at the last judgement
	findings      []report.Finding
	unexplained   *unexplained   // nil for none
	additionProbe *additionProbe // what the server said of additions; nil where there are none
	problem       string
	adoption      string // the adoption in which the object was seen with nothing of the other controller's on it; empty for none
	noDryRun      string // why no dry run can tell what an apply of text would leave; empty where one can
}

// newRecord keeps an ID of its own: of an app's objects, most have their kind and namespace in common.
func newRecord(id object.ID, owner app.Key, memory fight.Memory) *record {
	id.Group, id.Kind, id.Namespace = internString(id.Group), internString(id.Kind), internString(id.Namespace)
	return &record{reconcileLock: &sync.Mutex{}, id: id, owner: owner, memory: memory}
}

// internString returns the same text, of which no second copy is kept.
func internString(s string) string { return unique.Make(s).Value() }

// gvk is the type that Git names.
func (r *record) gvk() object.GVK {
	return object.GVK{Group: r.id.Group, Version: r.served, Kind: r.id.Kind}
}

// textSum identifies a text: half of a SHA-256.
type textSum [sha256.Size / 2]byte

func textSumOf(text []byte) textSum {
	sum := sha256.Sum256(text)
	return textSum(sum[:len(textSum{})])
}

// setDesired takes note of what a new revision wants; last is what an earlier process wrote down of the object. It reports whether that is known
// to be something else than before.
func (r *record) setDesired(o desired.Object, owner app.Key, last inventory.Entry, texts *object.Packer) (changed bool, err error) {
	text, err := json.Marshal(o.Data)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner, r.served, r.file, r.line = owner, internString(o.GVK.Version), o.File, o.Line
	sum := textSumOf(text)
	if r.text.Known() && sum == r.sum {
		return false, nil
	}
	if changed = true; !r.text.Known() {
		r.changed = last.Sent == "" || last.Sent != o.Digest
		changed = r.changed && last.Sent != ""
		r.uid, r.appliedUID, r.found = last.UID, last.UID, last.Found
		if !r.changed {
			r.trusted = parseVersion(last.Judged)
		}
	} else {
		if !r.previous.Known() && !r.changed {
			r.previous = r.text
		}
		r.changed = true
	}
	r.text, r.sum, r.digest, r.applied = texts.Pack(o.GVK, text), sum, o.Digest, false
	r.foreseen, r.judged, r.noDryRun, r.podReport = false, false, "", nil
	return changed, nil
}

func (r *record) force() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forced = true
}

func (r *record) isForced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forced
}

// waitUnlocked returns when no goroutine holds the record's lock.
func (r *record) waitUnlocked() {
	r.reconcileLock.Lock()
	defer r.reconcileLock.Unlock()
}

// takePending returns the newest event that is not judged yet, and when the first of those arrived, and clears both.
func (r *record) takePending(texts *object.Packer) (arrival, error) {
	r.mu.Lock()
	s, out := r.pending, arrival{at: r.arrived}
	if r.arrivals == 1 && s != nil && !s.Gone {
		out.single = s.version
	}
	r.pending, r.arrived, r.arrivals, r.forced = nil, time.Time{}, 0, false
	r.mu.Unlock()
	var err error
	out.event, err = s.unpacked(texts)
	return out, err
}

// takeNewerPending is take for an event that shows the whole object as it was after the one that was judged; nil where there is none.
func (r *record) takeNewerPending(judged object.Object, texts *object.Packer) *live.Event {
	r.mu.Lock()
	p := r.pending
	if p == nil || p.Gone || p.Depth != live.Full || p.uid != judged.UID() || p.version <= versionOf(judged) {
		r.mu.Unlock()
		return nil
	}
	r.pending, r.arrived, r.arrivals, r.forced = nil, time.Time{}, 0, false
	r.mu.Unlock()
	ev, err := p.unpacked(texts)
	if err != nil {
		return nil // a GET shows as much
	}
	return ev
}

// arrival is what has come of an object since it was judged.
type arrival struct {
	event  *live.Event // the newest; nil for none
	at     time.Time   // when the first came
	single uint64      // the version of the only one; 0 where there were several
}

// setPending makes an event pending. The caller holds mu.
func (r *record) setPending(ev live.Event, now time.Time) {
	if r.pending == nil {
		r.arrived = now
	}
	r.arrivals++
	r.pending = newPendingEvent(ev)
}

// snapshot is the part of a record that a judgement reads.
type snapshot struct {
	gvk           object.GVK
	owner         app.Key
	file          string // in which Git describes it, and where
	line          int
	desired       object.Object
	sum           textSum // of desired
	previous      object.Object
	changed       bool
	foreseen      bool
	baseline      compare.Baseline
	withheld      []field.Path
	memory        fight.Memory
	open          map[string]time.Time // not to be changed
	uid           string
	appliedUID    string
	found         bool
	additionProbe *additionProbe
	request       decide.Request
	wasThere      bool // an object of this ID was seen or made
	noDryRun      string
	judged        bool
	version       uint64
	past          compare.Past
	postponed     map[string]time.Time // not to be changed
	adoption      string
}

func (r *record) snapshot(texts *object.Packer) (snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := snapshot{
		gvk: r.gvk(), owner: r.owner, file: r.file, line: r.line, sum: r.sum, changed: r.changed, foreseen: r.foreseen, baseline: r.baseline, withheld: r.withheld,
		memory: r.memory, open: r.open, uid: r.uid, appliedUID: r.appliedUID, found: r.found, additionProbe: r.additionProbe, wasThere: r.uid != "", noDryRun: r.noDryRun,
		request: r.request, adoption: r.adoption,
		judged: r.judged, past: r.before(), postponed: r.postponed, version: r.version,
	}
	var err error
	if s.desired, err = decodeText(texts, r.text); err != nil {
		return s, err
	}
	s.previous, err = decodeText(texts, r.previous)
	return s, err
}

// before is what was seen at the last judgement. The caller holds mu.
func (r *record) before() compare.Past {
	if r.past == nil {
		return compare.Past{}
	}
	return *r.past
}

func decodeText(texts *object.Packer, packed object.Packed) (object.Object, error) {
	text, err := texts.Text(packed)
	if text == nil || err != nil {
		return nil, err
	}
	var o map[string]any
	err = utiljson.Unmarshal(text, &o)
	return o, err
}

// versionOf reads a resourceVersion as the number that it is (KEP-5504); 0 where it is none.
func versionOf(o object.Object) uint64 { return parseVersion(o.ResourceVersion()) }

func parseVersion(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
