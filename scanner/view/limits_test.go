package view_test

import (
	"encoding/base64"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner/view"
)

// TestTimeIsLinear makes every view of long texts that are one piece over and
// over. What is not linear takes hours; the bound is there to say which it was.
func TestTimeIsLinear(t *testing.T) {
	size := 1 << 20
	if testing.Short() {
		size = 256 << 10
	}
	hostile := append([]string{
		"_a", "a_", "__a", "a__b", "aB3_", "a\n", "aB3dE5gH7\n", "aB3=\n", "a-\n", "\"a\" + ", "a\" \\\n", "a**b", "<b a ", "<b><i>",
		"a<b>", "&am", "&amp;", "\\\\\\", "\x1b[1;", "a<!-- ", "%25", "\\u00", "0x0", "Zm9v%2B", "aaaaaaaaaaaaaaaa/", "a_b-",
	}, pieces...)
	for _, piece := range hostile {
		raw := strings.Repeat(piece, size/len(piece))
		began := time.Now()
		for _, text := range view.Variants(view.Of(raw)) {
			view.Decode(text)
		}
		if decoded, ok := view.Decode(view.Of(raw)); ok {
			view.Decode(decoded)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q: %d bytes took %v", piece, len(raw), took)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const size = 1 << 20
	for _, piece := range []string{"\\_", "\u200b", "%5f", "\x01", "a\u200b"} {
		raw := strings.Repeat(piece, size/len(piece))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		view.Normalise(view.Of(raw))
		view.Decode(view.Of(raw))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 60*size {
			t.Errorf("%q: %d bytes allocated for one", piece, used/size)
		}
	}
}

func TestNestedBase64ShrinksWithEachLayer(t *testing.T) {
	t.Parallel()
	raw := "a word that is long enough"
	for range 12 {
		raw = base64.StdEncoding.EncodeToString([]byte(raw))
	}
	text, layers := view.Of(raw), 0
	for {
		next, ok := view.Decode(text)
		if !ok {
			break
		}
		if len(next.String()) >= len(text.String()) {
			t.Fatalf("layer %d: %d bytes of %d", layers, len(next.String()), len(text.String()))
		}
		checkView(t, raw, next)
		text, layers = next, layers+1
	}
	if layers != 12 {
		t.Errorf("%d layers, want 12: %q", layers, text)
	}
}
