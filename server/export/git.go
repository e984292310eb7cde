package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// branch is what HEAD of an exported repository names.
const branch = plumbing.ReferenceName("refs/heads/main")

// Git writes one repo as a bare git repository into dir, which must not exist or
// be empty: a commit for each version, whose author is who made it. Versions that
// have nothing left to show, because all of it was redacted or pruned, have none.
// The last commit has exactly the live entries. Where the error is not nil the
// directory is not whole.
func Git(ctx context.Context, src Source, repo api.Repo, dir string) (Summary, error) {
	head, err := src.Head(ctx, repo)
	if err != nil {
		return Summary{}, fmt.Errorf("reading %q: %w", repo, err)
	}
	made, err := bare(dir)
	if err != nil {
		return Summary{}, fmt.Errorf("making a git repository of %q: %w", repo, err)
	}
	w := &gitWriter{objects: made, top: newFolder(), epoch: head.Epoch, blobs: map[api.Checksum]plumbing.Hash{}, live: map[api.Key]api.Checksum{}}
	if err := replay(ctx, src, head, w.commit); err != nil {
		return Summary{}, err
	}
	if err := w.settle(ctx, src, head); err != nil {
		return Summary{}, err
	}
	return Summary{Repos: 1, Entries: len(head.Items), Versions: w.commits}, nil
}

// bare makes an empty git repository without a work tree: nobody has chosen to
// have these files checked out.
func bare(dir string) (*filesystem.Storage, error) {
	s := filesystem.NewStorage(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRUDefault())
	if err := s.Init(); err != nil {
		return nil, err
	}
	settings := config.NewConfig()
	settings.Core.IsBare = true
	if err := s.SetConfig(settings); err != nil {
		return nil, err
	}
	return s, s.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, branch))
}

type gitWriter struct {
	objects *filesystem.Storage
	top     *folder
	parent  plumbing.Hash
	epoch   string
	commits int
	blobs   map[api.Checksum]plumbing.Hash
	live    map[api.Key]api.Checksum // what the last commit has
}

// commit writes one version, unless nothing of it is left.
func (w *gitWriter) commit(s step) error {
	var said []string
	for _, c := range s.changes {
		switch {
		case c.gone:
		case c.Op == store.OpPut:
			if err := w.put(c.Key, c.Sum, c.content); err != nil {
				return err
			}
			said = append(said, "put "+c.Key.String())
		default:
			w.retire(c.Key)
			said = append(said, "retire "+c.Key.String())
		}
	}
	if len(said) == 0 {
		return nil
	}
	return w.write(s, said)
}

func (w *gitWriter) put(key api.Key, sum api.Checksum, content string) error {
	blob, ok := w.blobs[sum]
	if !ok {
		var err error
		if blob, err = storeObject(w.objects, plumbing.BlobObject, []byte(content)); err != nil {
			return err
		}
		w.blobs[sum] = blob
	}
	w.top.set(segments(key.String()), blob)
	w.live[key] = sum
	return nil
}

func (w *gitWriter) retire(key api.Key) {
	if _, there := w.live[key]; there {
		w.top.remove(segments(key.String()))
		delete(w.live, key)
	}
}

// settle adds a commit where what is left of the history does not lead to the
// live entries: a redaction may have taken the row that retired or replaced one.
func (w *gitWriter) settle(ctx context.Context, src Source, head *store.Head) error {
	var said []string
	var missing []store.Item
	var sums []api.Checksum
	for _, item := range head.Items {
		if w.live[item.Key] != item.Sum {
			missing, sums = append(missing, item), append(sums, item.Sum)
		}
	}
	if len(missing) > 0 {
		bodies, err := src.Bodies(ctx, head.Repo, sums)
		if err != nil {
			return fmt.Errorf("reading contents of %q: %w", head.Repo, err)
		}
		for _, item := range missing {
			body, ok := bodies[item.Sum]
			if !ok {
				continue // redacted meanwhile
			}
			if err := w.put(item.Key, item.Sum, body); err != nil {
				return err
			}
			said = append(said, "put "+item.Key.String())
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.live), api.Key.Compare) {
		if _, there := head.Item(key); !there {
			w.retire(key)
			said = append(said, "retire "+key.String())
		}
	}
	if len(said) == 0 {
		return nil
	}
	return w.write(step{version: head.Version, at: head.Modified}, said)
}

// write makes the commit and moves the branch.
func (w *gitWriter) write(s step, said []string) error {
	tree, err := w.top.store(w.objects)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	if !w.parent.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", w.parent)
	}
	at := s.at.Unix()
	fmt.Fprintf(&b, "author %s <%s@actors.invalid> %d +0000\n", gitName(whoIs(s.by.Actor)), cmp.Or(s.by.ActorID, "unknown"), at)
	fmt.Fprintf(&b, "committer teammemd <teammemd@actors.invalid> %d +0000\n\n", at)
	b.WriteString(message(s, said, w.epoch))
	if w.parent, err = storeObject(w.objects, plumbing.CommitObject, []byte(b.String())); err != nil {
		return err
	}
	w.commits++
	return w.objects.SetReference(plumbing.NewHashReference(branch, w.parent))
}

// message says what a version did, and in trailers by what.
func message(s step, said []string, epoch string) string {
	var b strings.Builder
	if len(said) == 1 {
		fmt.Fprintf(&b, "%s\n\n", said[0])
	} else {
		fmt.Fprintf(&b, "%s and %d more\n\n%s\n\n", said[0], len(said)-1, strings.Join(said, "\n"))
	}
	fmt.Fprintf(&b, "Version: %d\nEpoch: %s\n", s.version, epoch)
	a := s.by.Actor
	for _, trailer := range []struct{ name, value string }{{"Token", a.Token}, {"Device", a.Device}, {"Agent", a.Agent}, {"Session", a.Session}} {
		if trailer.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", trailer.name, oneLine(trailer.value))
		}
	}
	return b.String()
}

// oneLine keeps a text from being more than one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// gitName is a text without what ends a name in a commit.
func gitName(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return cmp.Or(oneLine(text), "unknown")
}
