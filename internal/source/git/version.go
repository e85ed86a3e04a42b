package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// least is the oldest git that does all that we ask of it: settings in the environment are 2.31's, and without them nothing would be
// hardened, silently; http.curloptResolve, which binds git to the addresses that were judged, is 2.37's. CVE-2022-24765, CVE-2022-29187 and
// CVE-2022-39253 are fixed in its patch releases.
const (
	leastMajor = 2
	leastMinor = 37
)

// Program returns the path of the git program on PATH, or why truce cannot work with it.
func Program() (string, error) {
	program, err := exec.LookPath("git")
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("git is not on PATH: install git %d.%d or newer", leastMajor, leastMinor)
	}
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	return program, checkVersion(program, string(out))
}

// checkVersion reads "git version 2.39.5 (Apple Git-154)".
func checkVersion(program, said string) error {
	text, ok := strings.CutPrefix(strings.TrimSpace(said), "git version ")
	parts := strings.SplitN(text, ".", 3)
	if !ok || len(parts) < 2 {
		return fmt.Errorf("%s says %q: want git %d.%d or newer", program, strings.TrimSpace(said), leastMajor, leastMinor)
	}
	major, majorErr := strconv.Atoi(parts[0])
	rest := strings.TrimLeft(parts[1], "0123456789") // what follows them: "-rc1", " (Apple Git-154)"
	minor, minorErr := strconv.Atoi(strings.TrimSuffix(parts[1], rest))
	if err := errors.Join(majorErr, minorErr); err != nil {
		return fmt.Errorf("%s says %q: %w", program, strings.TrimSpace(said), err)
	}
	if major < leastMajor || major == leastMajor && minor < leastMinor {
		return fmt.Errorf("%s is git %s: want %d.%d or newer", program, text, leastMajor, leastMinor)
	}
	return nil
}
