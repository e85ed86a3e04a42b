package overlay

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// pending is what stands for the revision until it is known, with the number of its digits that are wanted. It is a good tag of an
// image, so that what it is a part of can be read before.
const pending = "truce.revision.%02d.of.the.source"

var pendingForm = regexp.MustCompile(`truce\.revision\.([0-9]{2})\.of\.the\.source`)

// Revision is a text that stands for the first digits of the source's revision, all of them for 0, until At puts it in.
func Revision(digits int) string { return fmt.Sprintf(pending, digits) }

// At returns the overlay with the revision put in wherever it is asked for. What it is called on stays as it is.
func (o Overlay) At(revision string) Overlay {
	put := func(text string) string { return PutRevision(text, revision) }
	o.Images = slices.Clone(o.Images)
	for i, m := range o.Images {
		o.Images[i] = Image{Name: put(m.Name), NewName: mapText(m.NewName, put), NewTag: mapText(m.NewTag, put), Digest: mapText(m.Digest, put)}
	}
	o.Labels.Pairs, o.Annotations.Pairs = mapPairs(o.Labels.Pairs, put), mapPairs(o.Annotations.Pairs, put)
	return o
}

func mapText(text *string, by func(string) string) *string {
	if text == nil {
		return nil
	}
	now := by(*text)
	return &now
}

func mapPairs(pairs map[string]string, by func(string) string) map[string]string {
	out := maps.Clone(pairs)
	for k, v := range out {
		out[k] = by(v)
	}
	return out
}

// PutRevision puts a revision into a text, wherever Revision stands for it.
func PutRevision(text, revision string) string {
	return pendingForm.ReplaceAllStringFunc(text, func(found string) string {
		digits, err := strconv.Atoi(pendingForm.FindStringSubmatch(found)[1])
		if err != nil || digits == 0 || digits > len(revision) {
			return revision
		}
		return revision[:digits]
	})
}
