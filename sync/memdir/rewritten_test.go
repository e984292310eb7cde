package memdir_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

// TestRewrittenInPlace: while a file is read, a program opens it, writes over
// its last byte and its first, and closes it: the size stays, and nobody has the
// file open before or after. Only the second look at the file tells such a read
// from a whole one.
func TestRewrittenInPlace(t *testing.T) {
	const size = 8 << 20 // bytes: large, so that the writing falls into the reading
	w := newWorld(t, func(o *memdir.Options) { o.MaxBytes = size })
	w.write("a.md", strings.Repeat("a", size))
	const settle = 5 * time.Millisecond
	var whole, refused int
	span := 4 * time.Millisecond // of one reading, about
	random := rand.New(rand.NewPCG(1, 2))
	for deadline := time.Now().Add(30 * time.Second); refused < 20 && time.Now().Before(deadline); {
		<-time.After(2 * settle)
		begun, done := time.Now(), make(chan error, 1)
		at, letter := time.After(time.Duration(random.Int64N(int64(span)))), byte('a'+random.IntN(26))
		go func() {
			<-at
			done <- rewriteEnds(w.path("a.md"), size, letter)
		}()
		got, err := w.tree.Load(t.Context(), key(t, "a.md"), api.Reading{Settle: settle})
		span = (3*span + time.Since(begun)) / 4
		switch {
		case errors.Is(err, api.ErrUnsettled):
			refused++
		case err != nil:
			t.Fatal(err)
		case got.Content[0] != got.Content[size-1]:
			t.Fatalf("half of one version and half of the next was taken for whole, after %d whole reads", whole)
		default:
			whole++
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Errorf("%d reads were whole, none was refused: the race did not happen", whole)
	}
	t.Logf("%d reads were whole, %d refused", whole, refused)
}

// rewriteEnds is a save that changes two bytes in place.
func rewriteEnds(path string, size int64, letter byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err1 := f.WriteAt([]byte{letter}, size-1)
	_, err2 := f.WriteAt([]byte{letter}, 0)
	return errors.Join(err1, err2, f.Close())
}
