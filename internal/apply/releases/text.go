package releases

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// document is a release's JSON, of which the parts that are not read stay as they are.
type document = map[string]json.RawMessage

func parseRelease(text []byte) (document, error) {
	var r document
	if err := json.Unmarshal(text, &r); err != nil || r == nil {
		return nil, errors.New("the release is no JSON")
	}
	return r, nil
}

// DigestOf identifies what a release is made of, whatever its state is and however its hooks ran.
func DigestOf(text []byte) string {
	r, err := parseRelease(text)
	if err != nil {
		return ""
	}
	delete(r, "info")
	if len(r["hooks"]) > 0 {
		hooks, err := hooksOf(r)
		if err != nil {
			return ""
		}
		for _, h := range hooks {
			delete(h, "last_run")
		}
		if r["hooks"], err = json.Marshal(hooks); err != nil {
			return ""
		}
	}
	body, err := json.Marshal(r) // keys in order
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func hooksOf(r document) ([]document, error) {
	var hooks []document
	if len(r["hooks"]) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(r["hooks"], &hooks); err != nil {
		return nil, errors.New("the hooks of the release are no JSON")
	}
	return hooks, nil
}

// WithState is a release's JSON in a state.
func WithState(text []byte, to State) ([]byte, error) {
	r, err := parseRelease(text)
	if err != nil {
		return nil, err
	}
	if err := setInfo(r, func(info map[string]any) {
		info["status"] = string(to.Status)
		if to.Description != "" {
			info["description"] = to.Description
		}
		for key, at := range map[string]time.Time{"first_deployed": to.First, "last_deployed": to.Last, "deleted": to.Deleted} {
			if !at.IsZero() {
				info[key] = at.UTC().Format(time.RFC3339Nano)
			}
		}
	}); err != nil {
		return nil, err
	}
	if err := setHooks(r, to.Hooks); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

func setInfo(r document, change func(map[string]any)) error {
	info := map[string]any{}
	if len(r["info"]) > 0 {
		if err := json.Unmarshal(r["info"], &info); err != nil || info == nil {
			return errors.New("the state of the release is no JSON")
		}
	}
	change(info)
	var err error
	r["info"], err = json.Marshal(info)
	return err
}

// lastRun is how Helm says that a hook ran.
type lastRun struct {
	Started   time.Time  `json:"started_at,omitzero"`
	Completed time.Time  `json:"completed_at,omitzero"`
	Phase     hook.Phase `json:"phase"`
}

func setHooks(r document, runs map[int]hook.Run) error {
	if len(runs) == 0 {
		return nil
	}
	hooks, err := hooksOf(r)
	if err != nil {
		return err
	}
	for i, run := range runs {
		if i < 0 || i >= len(hooks) || hooks[i] == nil {
			continue
		}
		last := lastRun{run.Started.UTC(), run.Completed.UTC(), run.Phase}
		if hooks[i]["last_run"], err = json.Marshal(last); err != nil {
			return err
		}
	}
	r["hooks"], err = json.Marshal(hooks)
	return err
}

// HookRuns are how the hooks of a release ran, by their index. What cannot be read has not run.
func HookRuns(text []byte) map[int]hook.Run {
	var r struct {
		Hooks []struct {
			Last json.RawMessage `json:"last_run"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return map[int]hook.Run{}
	}
	out := map[int]hook.Run{}
	for i, h := range r.Hooks {
		var last lastRun
		if err := json.Unmarshal(h.Last, &last); err != nil || last.Phase == hook.NotRun {
			continue
		}
		out[i] = hook.Run{Phase: last.Phase, Started: last.Started, Completed: last.Completed}
	}
	return out
}

// TestNames are the names of the release's tests, by the index of the hook.
func TestNames(text []byte) map[int]string {
	var r struct {
		Hooks []struct {
			Name   string       `json:"name"`
			Events []hook.Event `json:"events"`
		} `json:"hooks"`
	}
	out := map[int]string{}
	if err := json.Unmarshal(text, &r); err != nil {
		return out
	}
	for i, h := range r.Hooks {
		if slices.Contains(h.Events, hook.TestEvent) {
			out[i] = h.Name
		}
	}
	return out
}

// RollbackTarget is the revision that a release makes again; 0 for a release that is no rollback.
func RollbackTarget(text []byte) int {
	var r struct {
		Info struct {
			Target int `json:"rollback_revision"`
		} `json:"info"`
	}
	if json.Unmarshal(text, &r) != nil {
		return 0
	}
	return r.Info.Target
}

// RollbackTo is the release that makes an earlier one again, under a new revision.
func RollbackTo(text []byte, target, revision int) ([]byte, error) {
	r, err := parseRelease(text)
	if err != nil {
		return nil, err
	}
	if r["version"], err = json.Marshal(revision); err != nil {
		return nil, err
	}
	hooks, err := hooksOf(r)
	if err != nil {
		return nil, err
	}
	none := map[int]hook.Run{}
	for i := range hooks {
		none[i] = hook.Run{}
	}
	if err := setHooks(r, none); err != nil {
		return nil, err
	}
	err = setInfo(r, func(info map[string]any) {
		maps.DeleteFunc(info, func(key string, _ any) bool { return key != "notes" && key != "first_deployed" })
		info["rollback_revision"] = target
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// ChartOf is the name and the version of the release's chart; empty for unknown.
func ChartOf(text []byte) (name, version string) {
	var r struct {
		Chart struct {
			Metadata struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"metadata"`
		} `json:"chart"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return "", ""
	}
	return r.Chart.Metadata.Name, r.Chart.Metadata.Version
}

// FirstDeployed is when the first release of the name was deployed, as this one says; zero for unknown.
func FirstDeployed(text []byte) time.Time { return timesOf(text).First }

// LastDeployed is when this release was deployed; zero for unknown.
func LastDeployed(text []byte) time.Time { return timesOf(text).Last }

// DeletedAt is when the uninstall of this release began; zero for none.
func DeletedAt(text []byte) time.Time { return timesOf(text).Deleted }

// NamespaceOf is the namespace that a release is for; empty where the text is none of a release.
func NamespaceOf(text []byte) string {
	var r struct {
		Namespace string `json:"namespace"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return ""
	}
	return r.Namespace
}

// Description is what Helm says of the release's state.
func Description(text []byte) string { return timesOf(text).Description }

type times struct {
	First       time.Time `json:"first_deployed"`
	Last        time.Time `json:"last_deployed"`
	Deleted     time.Time `json:"deleted"`
	Description string    `json:"description"`
}

func timesOf(text []byte) times {
	var r struct {
		Info times `json:"info"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return times{}
	}
	return r.Info
}
