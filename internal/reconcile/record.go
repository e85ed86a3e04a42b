package reconcile

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"sync"
	"unique"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/fight"
	"github.com/truce-gitops/truce/internal/health"
	"github.com/truce-gitops/truce/internal/ignore"
	"github.com/truce-gitops/truce/internal/inventory"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// record is what the engine keeps of one managed object: about a kilobyte. Git's object is kept as packed JSON text, live not at all.
type record struct {
	street sync.Mutex // held while the object is judged and written: one queue per object

	mu          sync.Mutex // guards what follows; never held across a request
	id          object.ID
	gvk         object.GVK
	owner       app.Key
	text        object.Packed // what Git wants
	sum         textSum       // of text
	previous    object.Packed // what Git wanted when the baseline was taken, while that is something else
	file        string
	digest      string // of text, comparable across processes
	line        int
	changed     bool // text was never applied
	applied     bool // the server holds text
	foreseen    bool // the baseline is what a dry run said of text, which was not applied
	judged      bool // text was compared with what is there
	asked       bool // to be judged whatever is known: a claim on it has changed
	baseline    compare.Baseline
	withheld    []field.Path // at the last apply
	memory      fight.Memory
	kept        []byte // of memory, in the journal
	uid         string // of the newest answer or event that was judged
	made        string // uid of the object that we applied to; somebody may have put another one in its place
	version     uint64 // resourceVersion of the newest answer or event that was judged
	fingerprint uint64 // of that one, see live.Fingerprint
	pending     *live.Event
	health      health.Status
	ignored     ignore.Tally // what came of the rules at the last judgement
	findings    []decide.Finding
	problem     string
}

// newRecord keeps an ID of its own: of an app's objects, most have their kind and namespace in common.
func newRecord(id object.ID, owner app.Key, memory fight.Memory) *record {
	id.Group, id.Kind, id.Namespace = one(id.Group), one(id.Kind), one(id.Namespace)
	return &record{id: id, owner: owner, memory: memory}
}

// one returns the same text, of which no second copy is kept.
func one(s string) string { return unique.Make(s).Value() }

// typed is a type whose texts are those of the ID.
func typed(id object.ID, gvk object.GVK) object.GVK {
	return object.GVK{Group: id.Group, Version: one(gvk.Version), Kind: id.Kind}
}

// textSum tells texts apart: half of a SHA-256.
type textSum [sha256.Size / 2]byte

func sumOf(text []byte) textSum {
	sum := sha256.Sum256(text)
	return textSum(sum[:len(textSum{})])
}

// want takes note of what a new revision wants; last is what an earlier process wrote down of the object.
func (r *record) want(o desired.Object, owner app.Key, last inventory.Entry, texts *object.Packer) error {
	text, err := json.Marshal(o.Data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner, r.gvk, r.file, r.line = owner, typed(r.id, o.GVK), o.File, o.Line
	sum := sumOf(text)
	if r.text.Known() && sum == r.sum {
		return nil
	}
	if !r.text.Known() {
		r.changed = last.Sent == "" || last.Sent != o.Digest
		r.uid, r.made = last.UID, last.UID
	} else {
		if !r.previous.Known() && !r.changed {
			r.previous = r.text
		}
		r.changed = true
	}
	r.text, r.sum, r.digest, r.applied = texts.Pack(o.GVK, text), sum, o.Digest, false
	r.foreseen, r.judged = false, false
	return nil
}

func (r *record) ask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
}

func (r *record) isAsked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// take returns the newest event that nobody has judged, and clears it.
func (r *record) take() *live.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	ev := r.pending
	r.pending, r.asked = nil, false
	return ev
}

// snapshot is the part of a record that a judgement reads.
type snapshot struct {
	gvk      object.GVK
	owner    app.Key
	desired  object.Object
	sum      textSum // of desired
	previous object.Object
	changed  bool
	foreseen bool
	baseline compare.Baseline
	withheld []field.Path
	memory   fight.Memory
	uid      string
	hadHome  bool // an object of this ID was seen or made
}

func (r *record) snapshot(texts *object.Packer) (snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := snapshot{
		gvk: r.gvk, owner: r.owner, sum: r.sum, changed: r.changed, foreseen: r.foreseen, baseline: r.baseline, withheld: r.withheld,
		memory: r.memory, uid: r.uid, hadHome: r.uid != "",
	}
	var err error
	if s.desired, err = decode(texts, r.text); err != nil {
		return s, err
	}
	s.previous, err = decode(texts, r.previous)
	return s, err
}

func decode(texts *object.Packer, packed object.Packed) (object.Object, error) {
	text, err := texts.Text(packed)
	if text == nil || err != nil {
		return nil, err
	}
	var o map[string]any
	err = utiljson.Unmarshal(text, &o)
	return o, err
}

// versionOf reads a resourceVersion as the number that it is (KEP-5504); 0 where it is none.
func versionOf(o object.Object) uint64 {
	n, err := strconv.ParseUint(o.ResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
