package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/truce-gitops/truce/internal/testing/golden"
)

var _ = golden.Run // for its flag -update

// transcript is what the commands of a script have shown, for a page of docs/ that quotes it. A script adds to it by
//
//	shown CODE COMMAND…   runs a command, which must end with that code
//	page FILE             compares the blocks ```console of the page, in their order, with what was shown since the page before; with
//	                      -update it writes them
type transcript struct {
	blocks []string
}

func (tr *transcript) shown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: shown CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Check(err)
		}
		code = ended.ExitCode()
	}
	if code != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), code, want)
	}
	text := "$ " + strings.Join(args[1:], " ") + "\n" + ts.ReadFile("stdout") + ts.ReadFile("stderr")
	tr.blocks = append(tr.blocks, plain(text, ts.Getenv("NS"), ts.Getenv("WORK")))
}

var (
	hashes  = regexp.MustCompile(`sha1:[0-9a-f]{7,40}`)
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d`)
	often   = regexp.MustCompile(`\d+ times within the hour`) // an autoscaler takes two steps or three
	froms   = regexp.MustCompile(`, from \d+`)                // whether truce sees the steps in between depends on how busy the machine is
	agos    = regexp.MustCompile(`, (at the latest )?\d+s ago`)
	gaps    = regexp.MustCompile(` {2,}`)
)

// plain replaces what is another one in each run: names, hashes, times, and the widths of columns that follow from them.
func plain(text, namespace, work string) string {
	wide := strings.Contains(text[strings.Index(text, "\n")+1:], namespace)
	text = strings.NewReplacer(namespace, "shop", work, "~").Replace(text)
	seen := map[string]string{}
	text = hashes.ReplaceAllStringFunc(text, func(hash string) string {
		if seen[hash[:12]] == "" {
			seen[hash[:12]] = fmt.Sprintf("sha1:%07x", 0x1c0ffee+len(seen)*0x1111111)
		}
		return seen[hash[:12]]
	})
	text = moments.ReplaceAllString(text, "2026-11-21${1}10:00:00")
	text = agos.ReplaceAllString(text, "")
	text = froms.ReplaceAllString(text, "")
	text = often.ReplaceAllString(text, "2 times within the hour")
	if wide {
		return aligned(text)
	}
	return text
}

// aligned aligns the columns, in each run of lines that have some.
func aligned(text string) string {
	var out strings.Builder
	var rows [][]string
	flush := func() {
		widths := map[int]int{}
		for _, row := range rows {
			for i, cell := range row {
				widths[i] = max(widths[i], len(cell))
			}
		}
		for _, row := range rows {
			for i, cell := range row[:len(row)-1] {
				fmt.Fprintf(&out, "%-*s  ", widths[i], cell)
			}
			out.WriteString(row[len(row)-1] + "\n")
		}
		rows = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		cells := gaps.Split(line, -1)
		if len(cells) > 1 && cells[0] != "" { // else it is indented
			rows = append(rows, cells)
			continue
		}
		flush()
		out.WriteString(line + "\n")
	}
	flush()
	return out.String()
}

// console is a block of a page.
var console = regexp.MustCompile("(?s)```console\n(.*?)```")

func (tr *transcript) page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page FILE")
	}
	path := "../../docs/" + args[0]
	text, err := os.ReadFile(path)
	ts.Check(err)
	n := 0
	next := console.ReplaceAllStringFunc(string(text), func(block string) string {
		if n++; n <= len(tr.blocks) {
			return "```console\n" + tr.blocks[n-1] + "```"
		}
		return block
	})
	if n != len(tr.blocks) {
		ts.Fatalf("%s has %d blocks ```console, and the script has shown %d:\n%s", path, n, len(tr.blocks), strings.Join(tr.blocks, "\n"))
	}
	tr.blocks = nil
	diff := cmp.Diff(string(text), next)
	if diff == "" {
		return
	}
	if flag.Lookup("update").Value.String() != "true" {
		ts.Fatalf("%s is not what the program says; if the program is right, run this test with -update (-page +program):\n%s", path, diff)
	}
	ts.Check(os.WriteFile(path, []byte(next), 0o644))
}
