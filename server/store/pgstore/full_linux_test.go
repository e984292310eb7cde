package pgstore_test

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"os/user"
	"strconv"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/nstest"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// TestFullDisk gives the tables a file system of 16 MB and fills it: writes are
// refused by the database's own word, every time and with nothing of them kept;
// reads go on, and so do writes when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	uid, gid := serversUser(t)
	if !nstest.InsideWith(t, uid, gid) {
		return
	}
	cluster := pgtest.New(t)
	disk := cluster.Directory(t, "disk")
	nstest.Mount(t, "tmpfs", disk, "tmpfs", 0, "size=16m")
	if err := os.Chown(disk, uid, gid); err != nil {
		t.Fatal(err)
	}
	cluster.Exec(t, "CREATE TABLESPACE small LOCATION '"+disk+"'")
	dsn := pgtest.SchemaIn(t, cluster) + " options='-c default_tablespace=small'"
	s := serve(t, dsn)
	follow(t, s)
	text := func(n int) string { // cannot be compressed
		random := rand.NewChaCha8([32]byte{byte(n)})
		b := make([]byte, 100_000)
		_, _ = random.Read(b)
		return hex.EncodeToString(b)
	}
	last := put(t, s, "first.md", text(0))
	free := nstest.Fill(t, disk)
	refused := 0
	for n := 1; refused < 3; n++ {
		if n > 100 {
			t.Fatal("100 writes found room on a full disk")
		}
		key := strconv.Itoa(n) + ".md"
		head, err := s.Update(t.Context(), acme, putting(key, text(n)))
		if err == nil {
			last = head // it fitted into what the tables had
			continue
		}
		refused++
		if !errors.Is(err, store.ErrFull) {
			t.Errorf("a write to a full disk: %v", err)
		}
	}
	for name, s := range map[string]*pgstore.Store{"the same store": s, "another": serve(t, dsn)} {
		head, err := s.Head(t.Context(), acme)
		if err != nil || head.Version != last.Version || head.Checksum != last.Checksum {
			t.Errorf("%s has the head %+v, %v, want version %d", name, head, err, last.Version)
		}
		sum := api.SumString(text(0))
		if bodies, err := s.Bodies(t.Context(), acme, []api.Checksum{sum}); err != nil || bodies[sum] != text(0) {
			t.Errorf("%s has another content: %v", name, err)
		}
	}
	free()
	if head := put(t, s, "after.md", text(200)); head.Version != last.Version+1 {
		t.Errorf("with room again the version is %d, want %d", head.Version, last.Version+1)
	}
	if said := problems(t, s); said != "" {
		t.Error(said)
	}
}

// serversUser is as whom PostgreSQL runs where this process is root's.
func serversUser(t *testing.T) (uid, gid int) {
	t.Helper()
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid()
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("SKIP: there is no user postgres")
	}
	uid, err = strconv.Atoi(postgres.Uid)
	if err == nil {
		gid, err = strconv.Atoi(postgres.Gid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return uid, gid
}
