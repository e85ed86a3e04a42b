package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Making is a commit to be made in the working tree whose top is Dir.
type Making struct {
	Dir string
	// Paths are what it holds, below the top; nothing else gets into it.
	Paths   []string
	Message string
	// Branch is a new one to make it on; empty for the one that is checked out.
	Branch string
}

// ErrUnclean says that a commit would take along, or leave half staged, other changes in the working tree.
var ErrUnclean = errors.New("there are changes that are not committed")

// Prepare checks that the commit can be made, and checks its branch out. It is called before the files are written: a file with changes of
// its own, or anything that is staged, is ErrUnclean.
func (c Making) Prepare(ctx context.Context) error {
	list, err := runAsUser(ctx, c.Dir, "", "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		if len(entry) < 4 {
			continue
		}
		switch name := entry[3:]; {
		case entry[0] != ' ':
			return fmt.Errorf("%s is staged: %w", name, ErrUnclean)
		case slices.Contains(c.Paths, name):
			return fmt.Errorf("%s was edited: %w", name, ErrUnclean)
		}
	}
	for _, name := range c.Paths {
		if _, err := runAsUser(ctx, c.Dir, "", "ls-files", "--error-unmatch", "--", ":(literal)"+name); err != nil {
			return fmt.Errorf("%s was never committed: %w", name, ErrUnclean)
		}
	}
	if c.Branch == "" {
		return nil
	}
	_, err = runAsUser(ctx, c.Dir, "", "switch", "--quiet", "--create", c.Branch, "--")
	return err
}

// Make commits the paths as they lie there, as the user would: with the user's name, signature and hooks. It returns the commit's short hash.
func (c Making) Make(ctx context.Context) (string, error) {
	args := []string{"commit", "--quiet", "--file=-", "--"}
	for _, name := range c.Paths {
		args = append(args, ":(literal)"+name)
	}
	if _, err := runAsUser(ctx, c.Dir, c.Message, args...); err != nil {
		return "", err
	}
	hash, err := runAsUser(ctx, c.Dir, "", "rev-parse", "--short", "HEAD")
	return strings.TrimSpace(hash), err
}

// runAsUser runs git in a working tree with the user's own configuration, with a text to read, and returns what it printed.
func runAsUser(ctx context.Context, dir, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(unpointed(os.Environ()), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.Stdin = strings.NewReader(in)
	stdout := capped{most: mostOutput}
	var stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if own := complaintOf(stderr.String()).own; len(own) > 0 {
			return "", fmt.Errorf("git %s: %s", args[0], strings.Join(own, "; "))
		}
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
