// Image answers: what does a container with truce hold?
//
// In: truce's program, the list of Debian packages that is kept here (packages.txt), and Debian's archive.
// Out: an OCI image layout in a directory, and its digest; or the files as a directory, for the Dockerfile.
// Promise: the same program and list give the same digest; every package has the sha256 sum of the list; no shell, no package manager, and
// nothing that a container's user can write but /data and /tmp.
// Not here: compiling truce, copying the image to a registry.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// options are the program's flags.
type options struct {
	truce, version  string
	layout, root    string
	created         int64
	cache, archives string
}

func main() {
	var o options
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flag.StringVar(&o.truce, "truce", "", "truce's program for linux/amd64, compiled without cgo")
	flag.StringVar(&o.version, "version", "", "its version")
	flag.StringVar(&o.layout, "layout", "", "directory for the OCI image layout; it must not exist")
	flag.StringVar(&o.root, "root", "", "directory for the files alone, as in the image; it must not exist")
	flag.Int64Var(&o.created, "created", 0, "seconds since 1970 that all files and the image bear: the time of the commit")
	flag.StringVar(&o.cache, "cache", cache+"/truce-image", "directory for packages")
	flag.StringVar(&o.archives, "archive", os.Getenv("TRUCE_DEBIAN_ARCHIVE"), "URL of a mirror of Debian's archive, above debian/ and debian-security/; empty for deb.debian.org, then snapshot.debian.org")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := buildImage(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func buildImage(ctx context.Context, o options) error {
	list, err := readList(locked)
	if err != nil {
		return fmt.Errorf("packages.txt: %w", err)
	}
	a := archive{cache: o.cache, urls: packageURLs(o.archives)}
	base, err := systemLayer(ctx, a, list)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(o.truce)
	if err != nil {
		return err
	}
	layers := []tree{base, {"usr/bin/truce": {data: program, mode: 0o755}}}
	if o.root != "" {
		for _, l := range layers {
			if err := l.unpack(o.root); err != nil {
				return err
			}
		}
	}
	if o.layout == "" {
		return nil
	}
	digest, err := writeLayout(o.layout, layers, about{version: o.version, created: time.Unix(o.created, 0).UTC()})
	if err != nil {
		return fmt.Errorf("write %s: %w", o.layout, err)
	}
	_, err = fmt.Fprintln(os.Stdout, digest)
	return err
}
