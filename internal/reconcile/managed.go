package reconcile

import (
	"crypto/sha256"
	"math"
	"strconv"
	"sync"
	"time"
	"unique"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// managedObject is what the engine knows of one object that an app describes: less than a kilobyte. Git's object is kept as packed JSON text,
// the live one not at all.
type managedObject struct {
	reconcileLock *sync.Mutex // held while the object is compared and written: one reconcile of an object at a time

	mu    sync.Mutex // guards what follows; never held across a request
	id    object.ID
	owner app.Key
	description
	observation
	inbox
	state  objectState
	listed bool // the stored inventory of the owner names the object: until then nothing is written to it
	// awaitsWave says that the object's wave of an operation has not begun: until then nothing is written to it.
	awaitsWave   bool
	confirmation optout.Confirmation // of its deletion, as Git has it
	isReplaced   bool                // truce has deleted it in order to create it, and has not applied it since
	hold         hold                // of the owner, as of its newest run
	found        bool                // the object was there before truce applied it, with fields that others had added, or that is not known
	optedOut     bool                // an annotation or label on the object, which is there, asks for it to be left as it is
	isUnproven   bool                // truce has created an object that it only creates, and it has not been healthy since
	isDeployed   bool                // a deployed release has brought it out, as it is described; of an object of which no record says what was applied
	outcome
	memory      fight.Memory
	savedMemory []byte         // memory, as the journal has it
	request     decide.Request // of a person, until the object was reconciled with it
}

// description is the object as Git describes it.
type description struct {
	served   string // the version of the API that Git names; the rest of the type is in the ID
	text     object.Packed
	sum      textSum       // of text
	previous object.Packed // the text of which the baseline was taken, while that is another one
	digest   string        // of text, comparable across processes
	file     string
	line     int32
	wave     int32 // in which an operation applies it
	// sensitive are its fields that hold what came from a Secret; nil for none.
	sensitive *redact.Sensitive
}

// observation is what the API server has shown of the object.
type observation struct {
	uid         string          // of the newest answer or event that was compared
	appliedUID  string          // of the object that truce applied; another one may be in its place
	version     uint64          // resourceVersion of the newest answer or event that was compared
	watched     uint64          // resourceVersion of the newest event; less than version until the watch has shown what a read or a write has
	settled     unchanged.State // of the object that was compared; until it was, that in which an earlier process found it to be as Git wants
	fingerprint uint64          // of the object at version, see unchanged.Fingerprint
	baseline    compare.Baseline
	withheld    []field.Path  // at the last apply, or since
	health      health.Status // without what pods report
	assessed    rules         // by which rules
	podReport   *podReport    // nil for a healthy object
	expires     int64         // when the cluster deletes it because it has done its work, in seconds since 1970; 0 for never
	isExpiryNew bool          // expires is perhaps not what the stored inventory says
}

// outcome is what the last reconcile of the object has found.
type outcome struct {
	problem       string // why it failed; empty for none
	findings      []report.Finding
	past          *compare.Past        // what the last comparison has seen; nil for nothing
	postponed     map[string]time.Time // by path: until when the report of a finding waits
	open          map[string]time.Time // by path: since when a difference is known that is left for now
	ignored       ignore.Tally         // how often each ignore rule applied
	unexplained   *unexplained         // differences without a known writer; nil for none
	additionProbe *additionProbe       // what the server answered about additions; nil where there are none
	adoption      string               // the adoption in which nothing of the other controller's was found on the object; empty for none
	noDryRun      string               // why no dry run can show what an apply would leave; empty where one can
}

// newManagedObject keeps an ID of its own: of an app's objects, most have their kind and namespace in common.
func newManagedObject(id object.ID, owner app.Key, memory fight.Memory) *managedObject {
	id.Group, id.Kind, id.Namespace = internString(id.Group), internString(id.Kind), internString(id.Namespace)
	return &managedObject{reconcileLock: &sync.Mutex{}, id: id, owner: owner, memory: memory}
}

// internString returns the same text, of which no second copy is kept.
func internString(s string) string { return unique.Make(s).Value() }

// gvk is the type that Git names.
func (r *managedObject) gvk() object.GVK {
	return object.GVK{Group: r.id.Group, Version: r.served, Kind: r.id.Kind}
}

// textSum identifies a text: half of a SHA-256.
type textSum [sha256.Size / 2]byte

func textSumOf(text []byte) textSum {
	sum := sha256.Sum256(text)
	return textSum(sum[:len(textSum{})])
}

// setDesired takes in what a new revision describes; last is what an earlier process wrote to the inventory about the object. It reports
// whether that is known to differ from what was described before.
func (r *managedObject) setDesired(o desired.Object, owner app.Key, last inventory.Entry, texts *object.Packer) (changed bool, err error) {
	text, err := o.Data.JSON()
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner, r.served, r.file, r.sensitive = owner, internString(o.GVK.Version), o.File, nil
	r.line, r.wave = shorten(o.Line), shorten(o.SyncWave)
	if !o.Sensitive.IsZero() {
		r.sensitive = &o.Sensitive
	}
	sum := textSumOf(text)
	if r.state.isDescribed() && sum == r.sum {
		return false, nil
	}
	if r.state.isDescribed() && !r.text.Known() && o.Digest != "" && o.Digest == r.digest { // known from the inventory until now
		r.text, r.sum = texts.Pack(o.GVK, text), sum
		return false, nil
	}
	if r.state.isDescribed() {
		if !r.previous.Known() && !r.state.isChanged() {
			r.previous = r.text
		}
		changed, r.expires = true, 0
		r.state.describe(false)
	} else {
		r.state.describe(last.Sent != "" && last.Sent == o.Digest)
		changed = r.state.isChanged() && last.Sent != ""
		r.uid, r.appliedUID, r.found = last.UID, last.UID, last.Found
		if !r.state.isChanged() {
			r.settled, r.expires = unchanged.ParseState(last.Judged), last.Expires
		}
	}
	r.text, r.sum, r.digest = texts.Pack(o.GVK, text), sum, o.Digest
	r.noDryRun, r.podReport = "", nil
	return changed, nil
}

// knowDeployed says whether a deployed release has brought the object out.
func (r *managedObject) knowDeployed(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isDeployed = on
}

// askConfirmation notes what Git says about the confirmation of the object's deletion.
func (r *managedObject) askConfirmation(c optout.Confirmation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.confirmation = c
}

// shorten keeps a number in half of the space; none that it is used for is larger.
func shorten(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// waitUnlocked returns when no reconcile of the object is under way.
func (r *managedObject) waitUnlocked() {
	r.reconcileLock.Lock()
	defer r.reconcileLock.Unlock()
}

// snapshot is the part of a record that a judgement reads. Its maps and slices are not to be changed.
type snapshot struct {
	observation
	outcome
	gvk        object.GVK
	owner      app.Key
	desired    object.Object
	file       string
	line       int
	sum        textSum
	previous   object.Object
	sensitive  redact.Sensitive
	state      objectState
	memory     fight.Memory
	found      bool
	request    decide.Request
	past       compare.Past
	isDeployed bool
}

// wasThere reports whether an object of this ID was seen or made.
func (s snapshot) wasThere() bool { return s.uid != "" }

func (r *managedObject) snapshot(texts *object.Packer) (snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := snapshot{
		observation: r.observation, outcome: r.outcome, gvk: r.gvk(), owner: r.owner, file: r.file, line: int(r.line), sum: r.sum, state: r.state,
		memory: r.memory, found: r.found, request: r.request, past: r.before(), isDeployed: r.isDeployed,
	}
	if r.sensitive != nil {
		s.sensitive = *r.sensitive
	}
	var err error
	if s.desired, err = decodeText(texts, r.text); err != nil {
		return s, err
	}
	s.previous, err = decodeText(texts, r.previous)
	return s, err
}

// isUnrecorded reports whether a deployed release has brought the object out, and nothing says what was applied: it is what the release describes.
func (s snapshot) isUnrecorded() bool {
	return s.isDeployed && s.state.isChanged() && s.previous == nil
}

// before is what was seen at the last judgement. The caller holds mu.
func (r *managedObject) before() compare.Past {
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
