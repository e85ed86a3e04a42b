package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// WorkTree is what git knows of a working tree.
type WorkTree struct {
	// Ignored are the paths that git neither follows nor shows, below the top; one of a directory stands for all in it.
	Ignored map[string]bool
	// Remotes are the addresses that its remotes have, without credentials.
	Remotes []string
}

// InspectWorkTree asks git about the working tree whose top is dir. What it asks starts nothing that the repository's configuration names.
func InspectWorkTree(ctx context.Context, dir string) (WorkTree, error) {
	l := WorkTree{Ignored: map[string]bool{}}
	names, err := gitOutput(ctx, dir, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return l, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		if name = strings.TrimSuffix(name, "/"); name != "" {
			l.Ignored[name] = true
		}
	}
	// The exit code 1 says that there is none (git-config(1)).
	lines, err := gitOutput(ctx, dir, "config", "--local", "-z", "--get-regexp", `^remote\..*\.url$`)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return l, err
	}
	for line := range strings.SplitSeq(lines, "\x00") {
		_, url, _ := strings.Cut(line, "\n")
		if a, err := parseAddress(url); err == nil {
			l.Remotes = append(l.Remotes, a.String())
		}
	}
	return l, nil
}

// ResolveCommit finds the commit that a revision of the working tree's repository names, in any of git's forms: main, origin/main, HEAD~1, v1^.
func ResolveCommit(ctx context.Context, dir, revision string) (string, error) {
	out, err := gitOutput(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return strings.TrimSpace(out), nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return "", fmt.Errorf("no commit %q is in the repository", revision)
	}
	return "", err
}

// HasPath reports whether a revision of the repository has something at a path. A path through a symbolic link is not followed.
func HasPath(ctx context.Context, dir, revision, path string) (bool, error) {
	out, err := gitOutput(ctx, dir, "--literal-pathspecs", "ls-tree", "--full-tree", "--name-only", revision, "--", path)
	return out != "", err
}

// gitOutput runs git in the working tree, with the user's own configuration, and returns what it printed.
func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	safe := []string{"-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir = dir
	cmd.Env = append(unpointed(os.Environ()), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// unpointed leaves out the variables that point git to another repository than that of its directory.
func unpointed(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GIT_DIR") && name != "GIT_WORK_TREE" && name != "GIT_INDEX_FILE" {
			out = append(out, v)
		}
	}
	return out
}
