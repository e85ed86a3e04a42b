package tree

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func TestMountedTreesAreDirectoriesOfOne(t *testing.T) {
	one := given.Files("a/x.yaml", "one")
	two := given.Files("x.yaml", "two")
	all := MountTrees([]Mounted{{"first", one}, {"second", two}})
	if err := fstest.TestFS(all, "first/a/x.yaml", "second/x.yaml"); err != nil {
		t.Error(err)
	}
	want, _ := two.Sum("x.yaml")
	if got, err := all.Sum("second/x.yaml"); got != want || err != nil {
		t.Errorf("sum %q, %v", got, err)
	}
	before, err := all.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := MountTrees([]Mounted{{"first", one}, {"second", given.Files("x.yaml", "other")}}).Digest(); after == before {
		t.Error("the digest of other files is the same")
	}
	if after, _ := MountTrees([]Mounted{{"second", one}, {"first", two}}).Digest(); after == before {
		t.Error("the digest of other names is the same")
	}
	for name, below := range map[string]source.Tree{"a mount": Subtree(all, "first"), "a directory": Subtree(all, "first/a")} {
		if _, err := fs.Stat(below, "../second/x.yaml"); err == nil {
			t.Errorf("%s: what is outside is there", name)
		}
	}
	if got, err := fs.ReadFile(Subtree(all, "first/a"), "x.yaml"); string(got) != "one" || err != nil {
		t.Errorf("below: %q, %v", got, err)
	}
	if _, err := fs.ReadFile(all, "third/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}
