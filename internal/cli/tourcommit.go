package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// commit changes the demo in Git, watches it arrive, and reverts the commit, so that the next tour finds the repository as this one has.
func (t *tour) commit(ctx context.Context) error {
	if !t.world.Demo {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, changeTimeout, errors.New("the commit did not arrive in time"))
	defer cancel()
	web := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	values, err := watchField[string](ctx, t.bystander.client.Resource(configMaps), web, field.NewPath("data", "GREETING"))
	if err != nil {
		return err
	}
	first, err := receiveSample(ctx, values)
	if err != nil {
		return err
	}
	from, to := greeting(t.world.Repo)
	if first.value != from {
		return nil // the user has made something else of the demo
	}
	t.steps.heading("A commit", fmt.Sprintf("Git says GREETING: %s for ConfigMap %s. A commit changes it, and the next one reverts that:", from, fullName(web)))
	t.steps.block("  $ cd " + shellWord(t.world.Repo))
	for _, step := range [][]string{{"sed", "-i.bak", "s/" + from + "/" + to + "/", greetings}, {"rm", greetings + ".bak"}} {
		if err := t.inRepository(ctx, step...); err != nil {
			return err
		}
	}
	for _, step := range [][]string{{"git", "commit", "-qam", "web: say " + to}, {"git", "revert", "--no-edit", "HEAD"}} {
		begin := time.Now()
		if err := t.inRepository(ctx, step...); err != nil {
			return err
		}
		now, err := receiveSample(ctx, values)
		if err != nil {
			return err
		}
		t.steps.at(now.at, fmt.Sprintf("%s GREETING %s → %s  by %s, %s after the command", fullName(web), first.value, now.value, now.by, now.at.Sub(begin).Round(time.Millisecond)))
		first = now
	}
	return nil
}

// inRepository runs a command in the demo's repository as a person would, and shows the line. Signatures and hooks of the user's own
// configuration are left out: the repository is ours.
func (t *tour) inRepository(ctx context.Context, args ...string) error {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shellWord(a)
	}
	t.steps.block("  $ " + strings.Join(words, " "))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = t.world.Repo
	elsewhere := func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT"}, name)
	}
	cmd.Env = append(slices.DeleteFunc(os.Environ(), elsewhere),
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=commit.gpgSign", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], cmp.Or(context.Cause(ctx), err), strings.TrimSpace(string(out)))
	}
	return nil
}
