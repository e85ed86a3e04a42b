package object

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

var widgets = GVK{Group: "example.org", Version: "v1", Kind: "Widget"}

func widget(name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":%q,"labels":{"app":%[1]q}},"spec":{"colour":"blue","parts":[1,2,3],"text":%q}}`,
		name, strings.Repeat("the quick brown fox jumps over the lazy dog; ", 5))
}

func TestATextLikeAnotherOfItsKindTakesLittle(t *testing.T) {
	var p Packer
	p.Pack(widgets, widget("first"))
	text := widget("second-of-them")
	if got := p.Pack(widgets, text); len(got.data) > len(text)/5 {
		t.Errorf("%d bytes are packed to %d", len(text), len(got.data))
	}
}

func TestAPoorFirstExampleIsReplaced(t *testing.T) {
	var p Packer
	first := p.Pack(widgets, []byte(`{}`))
	p.Pack(widgets, widget("second"))
	text := widget("third")
	if got := p.Pack(widgets, text); len(got.data) > len(text)/5 {
		t.Errorf("%d bytes are packed to %d", len(text), len(got.data))
	}
	if got, err := p.Text(first); err != nil || string(got) != `{}` {
		t.Errorf("the first became %q, %v", got, err)
	}
}

func TestNoTextIsNoText(t *testing.T) {
	var none Packed
	if got, err := new(Packer).Text(none); got != nil || err != nil || none.Known() {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPackingIsForMany(t *testing.T) {
	var p Packer
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				text := widget(fmt.Sprintf("w-%d-%d", i, j))
				if got, err := p.Text(p.Pack(widgets, text)); err != nil || !bytes.Equal(got, text) {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzWhatIsPackedComesBack(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":2}`))
	f.Add([]byte(nil), []byte("x"))
	f.Add(bytes.Repeat([]byte("abcdefghijklmnop"), 4000), bytes.Repeat([]byte("ponmlkjihgfedcba"), 4000))
	f.Fuzz(func(t *testing.T, sample, text []byte) {
		var p Packer
		for _, in := range [][]byte{sample, text, sample, text} {
			packed := p.Pack(widgets, in)
			got, err := p.Text(packed)
			if err != nil || !bytes.Equal(got, in) || !packed.Known() {
				t.Fatalf("%q became %q, %v", in, got, err)
			}
		}
	})
}

func BenchmarkPack(b *testing.B) {
	var p Packer
	p.Pack(widgets, widget("first"))
	text := widget("second")
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Pack(widgets, text)
		}
	})
	packed := p.Pack(widgets, text)
	b.Run("unpack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Text(packed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(len(packed.data)), "bytes")
}

// TestACompressorServesTextAfterText: its positions grow with each text and each sample, and are set back after two gigabytes, twice here.
func TestACompressorServesTextAfterText(t *testing.T) {
	var p Packer
	p.Pack(widgets, widget("first"))
	for i := range 150000 {
		text := widget(fmt.Sprintf("w-%d", i))
		packed := p.Pack(widgets, text)
		if got, err := p.Text(packed); err != nil || !bytes.Equal(got, text) || len(packed.data) > len(text)/5 {
			t.Fatalf("text %d: got %q of %d bytes, %v", i, got, len(packed.data), err)
		}
	}
}
