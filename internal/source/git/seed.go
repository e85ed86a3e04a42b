package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SeedRepository makes a repository with a work tree at dir, with the files in one commit on the branch main. A repository that is there
// already stays as it is. A user who has no name in git's configuration gets one for this repository alone, so that
// `git commit` works. Nothing is left at dir when it fails.
func SeedRepository(ctx context.Context, dir string, files fs.FS) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return nil
	}
	half := dir + ".new"
	if err := fillRepository(ctx, half, files); err != nil {
		return errors.Join(fmt.Errorf("make repository %s: %w", dir, err), os.RemoveAll(half))
	}
	if err := os.Rename(half, dir); err != nil {
		return fmt.Errorf("make repository %s: %w", dir, err)
	}
	return nil
}

func fillRepository(ctx context.Context, dir string, files fs.FS) error {
	if err := os.RemoveAll(dir); err != nil { // what an interrupted Seed left
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	steps := [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}}
	if err := seedGit(ctx, dir, "config", "user.email"); err != nil {
		steps = append(steps, []string{"config", "user.name", "demo"}, []string{"config", "user.email", "demo@example.com"})
	}
	steps = append(steps, []string{"-c", "commit.gpgSign=false", "commit", "-q", "--no-verify", "-m", "the demo as it comes with truce"})
	for _, args := range steps {
		if err := seedGit(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// seedGit runs git as the user would in dir, but for the variables that point it to another repository.
func seedGit(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = unpointed(os.Environ())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
