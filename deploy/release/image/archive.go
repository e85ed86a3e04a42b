package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed packages.txt
var locked string

// snapshot is when packages.txt was written: what deb.debian.org has replaced since is there.
const snapshot = "20261122T000000Z"

const largestPackage = 64 << 20

// pkg is a line of packages.txt.
type pkg struct{ name, version, path, sum string }

func readList(text string) ([]pkg, error) {
	var list []pkg
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 || len(f[3]) != hex.EncodedLen(sha256.Size) {
			return nil, fmt.Errorf("%q is not: package version path sha256", strings.TrimSpace(line))
		}
		list = append(list, pkg{f[0], f[1], f[2], f[3]})
	}
	return list, nil
}

// archive is where packages come from.
type archive struct {
	cache string
	urls  []func(p pkg) string
}

// packageURLs are those of a package, the first that has it wins.
func packageURLs(mirror string) []func(pkg) string {
	if mirror != "" {
		return []func(pkg) string{func(p pkg) string { return strings.TrimSuffix(mirror, "/") + "/" + p.path }}
	}
	return []func(pkg) string{
		func(p pkg) string { return "https://deb.debian.org/" + p.path },
		func(p pkg) string {
			area, path, _ := strings.Cut(p.path, "/")
			return "https://snapshot.debian.org/archive/" + area + "/" + snapshot + "/" + path
		},
	}
}

// get returns a package with the sum of the list, from the cache or the archive.
func (a archive) get(ctx context.Context, p pkg) ([]byte, error) {
	file := filepath.Join(a.cache, p.sum+".deb")
	if text, err := os.ReadFile(file); err == nil && hexDigest(text) == p.sum {
		return text, nil
	}
	var all []error
	for _, url := range a.urls {
		text, err := download(ctx, url(p))
		if err == nil && hexDigest(text) != p.sum {
			err = fmt.Errorf("%s has the sum %s, not %s", url(p), hexDigest(text), p.sum)
		}
		if err == nil {
			return text, writeFile(file, text)
		}
		all = append(all, err)
	}
	return nil, fmt.Errorf("fetch %s %s: %w", p.name, p.version, errors.Join(all...))
}

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func hexDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func download(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, largestPackage))
}
