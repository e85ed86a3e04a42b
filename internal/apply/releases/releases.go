// Package releases answers: which Helm releases are stored, and how is another one stored so that Helm reads it?
//
// In: the cluster as the account of an app reads and writes it; releases as Helm's JSON.
// Out: Secrets sh.helm.release.v1.NAME.vREVISION of the type helm.sh/release.v1, with the labels of Helm's driver for Secrets.
// Promise: a stored release is changed only in its status, its times, its description and how its hooks ran; each write carries the uid and the resourceVersion
// that were read; what is no Secret of Helm's type and of the release's name is neither read nor deleted.
// Not here: what is in a release (render/helm), which one is wanted (reconcile).
package releases

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

// Store keeps the releases of one name.
type Store struct {
	Access          tenancy.Access
	Namespace, Name string
}

// Stored is one release.
type Stored struct {
	Revision int
	Status   hook.Status // as the label has it
	Stage    hook.Stage  // how far the action has come by which it is pending
	Seal     string      // as State.Seal
	ByOthers bool        // truce has not written it
	Memory   Memory      // as State.Memory
	secret   object.Object
}

// State is what Helm says of a release besides what it is made of.
type State struct {
	Status      hook.Status
	Stage       hook.Stage
	Description string    // empty leaves what is there
	First, Last time.Time // when the first release of the name, and this one, was deployed; zero leaves what is there
	// Seal is a code by which truce knows that it has made the release; empty leaves what is there.
	Seal    string
	Deleted time.Time // when it was uninstalled; zero leaves what is there
	// Memory is what the status of the custom resource is about to say; nil leaves what is there.
	Memory *Memory
	// Hooks are how hooks ran, by their index; others stay as they are.
	Hooks map[int]hook.Run
}

// Memory is what a process that takes up a release must know beside it, where the one before was killed before it had written the status.
type Memory struct {
	Attempts remedy.Attempts
	// Reset and Force are the newest requests that were known when the release was stored.
	Reset, Force string
	// App is the app whose release it is, as the text of its key.
	App string
	// Failure is the action that has failed last, where it was not a remedy, and Cause is why.
	Failure hook.Step
	Cause   string
}

const (
	secretType = "helm.sh/release.v1"
	// manager owns the fields of the Secrets.
	manager = "truce-helm"
	// stageKey is the annotation of a Secret that says how far its action has come: Helm has no word for that.
	stageKey = "truce.dev/release-stage"
	// sealKey is the annotation of a Secret that has State.Seal.
	sealKey = "truce.dev/release-seal"
	// memoryKey is the annotation of a Secret that has State.Memory, as JSON.
	memoryKey = "truce.dev/release-memory"
	// largestSecret is how much the API server takes of a Secret's data.
	largestSecret = 1 << 20
	// longestRelease bounds a release's JSON, which a Secret holds compressed.
	longestRelease = 64 << 20
)

var secrets = object.GVK{Version: "v1", Kind: "Secret"}

// List returns the stored releases, the newest first.
func (s Store) List(ctx context.Context) ([]Stored, error) {
	all, err := s.Access.Live.List(ctx, live.Interest{GVK: secrets, Namespace: s.Namespace, Selector: "owner=helm,name=" + s.Name, Depth: live.Full})
	if err != nil {
		return nil, fmt.Errorf("list the releases %s/%s: %w", s.Namespace, s.Name, err)
	}
	var out []Stored
	for _, o := range all {
		text, _ := o.Label("version")
		revision, err := strconv.Atoi(text)
		if err != nil || o["type"] != secretType || o.Name() != s.secretName(revision) {
			continue
		}
		out = append(out, storedIn(revision, o))
	}
	slices.SortFunc(out, func(a, b Stored) int { return cmp.Compare(b.Revision, a.Revision) })
	return out, nil
}

func storedIn(revision int, secret object.Object) Stored {
	status, _ := secret.Label("status")
	stage, _ := secret.Annotation(stageKey)
	seal, _ := secret.Annotation(sealKey)
	entries, _ := secret.At("metadata", "managedFields").([]any)
	isOurs := slices.ContainsFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		return entry["manager"] == manager
	})
	out := Stored{Revision: revision, Status: hook.Status(status), Stage: hook.Stage(stage), Seal: seal, ByOthers: !isOurs, secret: secret}
	if text, there := secret.Annotation(memoryKey); there && isOurs && json.Unmarshal([]byte(text), &out.Memory) != nil {
		out.Memory = Memory{} // a person has written it
	}
	return out
}

// Created is when the release was stored, by the API server's clock; zero for unknown.
func (s Stored) Created() time.Time {
	at, err := time.Parse(time.RFC3339, s.secret.StringAt("metadata", "creationTimestamp"))
	if err != nil {
		return time.Time{}
	}
	return at
}

func (s Store) secretName(revision int) string {
	return "sh.helm.release.v1." + s.Name + ".v" + strconv.Itoa(revision)
}

// Text is the release's JSON.
func (s Stored) Text() ([]byte, error) {
	encoded, _ := s.secret.At("data", "release").(string)
	inner, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		inner, err = base64.StdEncoding.DecodeString(string(inner))
	}
	if err != nil {
		return nil, fmt.Errorf("secret %s: no release of Helm", s.secret.Name())
	}
	if !bytes.HasPrefix(inner, []byte{0x1f, 0x8b, 8}) { // of an early Helm
		return inner, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(inner))
	if err != nil {
		return nil, fmt.Errorf("secret %s: no release of Helm", s.secret.Name())
	}
	text, err := io.ReadAll(io.LimitReader(r, longestRelease+1))
	if err != nil {
		return nil, fmt.Errorf("secret %s: its release is incomplete", s.secret.Name())
	}
	if len(text) > longestRelease {
		return nil, fmt.Errorf("secret %s: its release is larger than %d MiB", s.secret.Name(), longestRelease>>20)
	}
	return text, r.Close()
}

// Create stores a new release.
func (s Store) Create(ctx context.Context, revision int, text []byte, to State) (Stored, error) {
	out := Stored{Revision: revision, secret: object.Object{"metadata": map[string]any{}}}
	return s.save(ctx, out, text, to)
}

// Update stores another state of a release.
func (s Store) Update(ctx context.Context, stored Stored, to State) (Stored, error) {
	text, err := stored.Text()
	if err != nil {
		return stored, err
	}
	return s.save(ctx, stored, text, to)
}

func (s Store) save(ctx context.Context, old Stored, text []byte, to State) (Stored, error) {
	text, err := WithState(text, to)
	if err != nil {
		return old, err
	}
	name := s.secretName(old.Revision)
	encoded, err := encodeRelease(text)
	if err != nil {
		return old, fmt.Errorf("store release %s/%s: %w", s.Namespace, name, err)
	}
	id := object.ID{Kind: secrets.Kind, Namespace: s.Namespace, Name: name}
	stamp := "createdAt"
	if old.secret.UID() != "" {
		stamp = "modifiedAt"
	}
	meta := map[string]any{"name": name, "namespace": s.Namespace, "labels": map[string]any{
		"name": s.Name, "owner": "helm", "status": string(to.Status), "version": strconv.Itoa(old.Revision), stamp: strconv.FormatInt(time.Now().Unix(), 10),
	}}
	notes := map[string]any{}
	if to.Stage != hook.Before {
		notes[stageKey] = string(to.Stage)
	}
	if seal := cmp.Or(to.Seal, old.Seal); seal != "" {
		notes[sealKey] = seal
	}
	memory := old.Memory
	if to.Memory != nil {
		memory = *to.Memory
	}
	if memory != (Memory{}) {
		text, err := json.Marshal(memory)
		if err != nil {
			return old, fmt.Errorf("encode what release %s remembers: %w", name, err)
		}
		notes[memoryKey] = string(text)
	}
	if len(notes) > 0 {
		meta["annotations"] = notes
	}
	now, err := s.Access.Writer.Apply(ctx, apply.Apply{
		Target: apply.Target{GVK: secrets, ID: id, UID: old.secret.UID(), ResourceVersion: old.secret.ResourceVersion()}, Manager: manager, Force: apply.Take, DryRun: apply.Persist,
		Body: object.Object{"apiVersion": "v1", "kind": "Secret", "type": secretType, "data": map[string]any{"release": encoded}, "metadata": meta},
	})
	if err != nil {
		return old, fmt.Errorf("store release %s/%s: %w", s.Namespace, name, err)
	}
	return storedIn(old.Revision, now), nil
}

// encodeRelease is a release as Helm puts it into a Secret, of which the API has the base64 again.
func encodeRelease(text []byte) (string, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", err
	}
	inner := base64.StdEncoding.EncodeToString(packed.Bytes())
	if len(inner) > largestSecret {
		return "", fmt.Errorf("it takes %d KiB, compressed, and a Secret holds %d: leave files that no template reads out of the chart (.helmignore)", len(inner)>>10, largestSecret>>10)
	}
	return base64.StdEncoding.EncodeToString([]byte(inner)), nil
}

// Trim deletes the oldest releases beyond a number, and returns those that are left. As in Helm the newest stays, and one that is deployed; so does the
// revision keep. 0 as most keeps all.
func (s Store) Trim(ctx context.Context, all []Stored, most, keep int) ([]Stored, error) {
	left, old := trimmed(all, most, keep)
	return left, s.Clear(ctx, old)
}

func trimmed(all []Stored, most, keep int) (left, old []Stored) {
	left = slices.Clone(all)
	for i := len(left) - 1; i > 0 && most > 0 && len(left) > most; i-- {
		if one := left[i]; one.Status != hook.Deployed && one.Revision != keep {
			old, left = append(old, one), slices.Delete(left, i, i+1)
		}
	}
	return left, old
}

// Clear deletes releases.
func (s Store) Clear(ctx context.Context, all []Stored) error {
	var errs []error
	for _, old := range all {
		id := object.ID{Kind: secrets.Kind, Namespace: s.Namespace, Name: old.secret.Name()}
		err := s.Access.Writer.Delete(ctx, apply.Target{GVK: secrets, ID: id, UID: old.secret.UID(), ResourceVersion: old.secret.ResourceVersion()})
		if err != nil && !errors.Is(err, apply.ErrGone) {
			errs = append(errs, fmt.Errorf("delete release %s/%s: %w", s.Namespace, old.secret.Name(), err))
		}
	}
	return errors.Join(errs...)
}
