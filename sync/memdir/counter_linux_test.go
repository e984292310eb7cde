package memdir_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// bytesRead returns how many bytes this process has read in its life.
func bytesRead(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("SKIP: no counter of bytes read: %v", err)
	}
	found := regexp.MustCompile(`rchar: (\d+)`).FindSubmatch(text)
	if found == nil {
		t.Skip("SKIP: no counter of bytes read")
	}
	n, err := strconv.ParseUint(fmt.Sprintf("%s", found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
