package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func shout(t *testing.T, in Files) string { return strings.ToUpper(in.Need(t, "in")) }

func TestRunComparesEachStory(t *testing.T) { Run(t, "testdata/*.txtar", shout) }

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "story.txtar")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatIsWrongWithAStoryIsSaid(t *testing.T) {
	for _, test := range []struct{ reason, story, want string }{
		{"the stage says something else", "# A title.\n-- in --\na\n-- want --\nB\n", "not as wanted"},
		{"nothing is wanted", "# A title.\n-- in --\na\n", "no section -- want --"},
		{"no title", "-- in --\na\n-- want --\nA\n", "no title"},
	} {
		s, err := read(write(t, test.story))
		if err == nil {
			err = s.settle(shout(t, s.inputs()), false)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.want)
		}
	}
}

func TestADiffNamesTheLine(t *testing.T) {
	s, err := read(write(t, "# A title.\n-- in --\na\nb\n-- want --\nA\nC\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = s.settle(shout(t, s.inputs()), false)
	if err == nil || !strings.Contains(err.Error(), `"C"`) || !strings.Contains(err.Error(), `"B"`) {
		t.Errorf("got %v", err)
	}
}

func TestUpdateWritesWantAndNothingElse(t *testing.T) {
	for _, before := range []string{
		"# A title.\n-- in --\na\n-- want --\nold\n",
		"# A title.\n-- in --\na\n",
	} {
		path := write(t, before)
		s, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.settle(shout(t, s.inputs()), true); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("# A title.\n-- in --\na\n-- want --\nA\n", string(after)); diff != "" {
			t.Errorf("after the update (-want +got):\n%s", diff)
		}
	}
}

func TestOutputThatWouldBreakTheFileIsRefused(t *testing.T) {
	s, err := read(write(t, "# A title.\n-- in --\na\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.settle("x\n-- y --\nz\n", true); err == nil {
		t.Error("a story was written that reads back as another")
	}
}
