package statedir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/planted"
)

// journal is a file of lines and its content in memory. The file is created, and
// compacted, by atomic replacement, and otherwise only appended to; a tail that
// a crash left torn is cut off before the next append. After a failed write the
// file's end is in doubt, so the next commit replaces the file whole.
type journal struct {
	path   string
	loaded bool
	memory api.Memory
	live   int64 // estimate of the bytes that memory takes

	file    *os.File // open for appending; nil: the next commit replaces
	end     int64    // bytes of the file that hold whole lines
	torn    bool     // the file has bytes after end
	retryAt int64    // no compaction below this size, in bytes
}

// linesKeys bounds the keys in one line of a compacted journal, so that several
// processors share the decoding.
const linesKeys = 500

// load reads the file once; a missing file is an empty state. It changes
// nothing on disk, so that a reader may load beside a writer.
func (j *journal) load() error {
	if j.loaded {
		return nil
	}
	j.memory = api.Memory{Bases: map[api.Key]api.Base{}}
	data, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		j.loaded = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading state %q: %w", j.path, err)
	}
	steps, end, err := decode(data)
	if err != nil {
		return fmt.Errorf("reading state %q: %w (move the file away to start afresh: the team directory is not touched, differing files become conflicts)", j.path, err)
	}
	for i := range steps {
		apply(&j.memory, &steps[i])
	}
	for key, b := range j.memory.Bases {
		j.live += estimate(key, b)
	}
	j.end, j.torn, j.loaded = end, end < int64(len(data)), true
	return nil
}

// decode returns the steps of a journal, and where the last whole line ends. A
// damaged line is a torn tail when nothing whole follows it, otherwise an error.
func decode(data []byte) ([]step, int64, error) {
	texts, end, err := split(data)
	if err != nil {
		return nil, 0, err
	}
	steps := make([]step, len(texts))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, text := range texts {
		group.Go(func() (err error) {
			if steps[i], err = decodeStep(text); err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	if got := steps[0].Format; got < 1 || got > format {
		return nil, 0, fmt.Errorf("format %d, this program knows up to %d", got, format)
	}
	return steps, end, nil
}

func split(data []byte) (texts [][]byte, end int64, err error) {
	damaged := 0
	for number, rest := 1, data; len(rest) > 0; number++ {
		raw, after, complete := bytes.Cut(rest, []byte{'\n'})
		text, ok := checkLine(raw)
		switch {
		case !ok || !complete:
			if damaged == 0 {
				damaged = number
			}
		case damaged > 0:
			return nil, 0, fmt.Errorf("line %d is damaged", damaged)
		default:
			texts = append(texts, text)
			end = int64(len(data) - len(after))
		}
		rest = after
	}
	if len(texts) == 0 {
		// The first line was written by atomic replacement: it cannot be torn.
		return nil, 0, errors.New("line 1 is damaged")
	}
	return texts, end, nil
}

// commit makes a step durable, then takes it into memory.
func (j *journal) commit(s *step) error {
	if err := j.openFile(); err != nil {
		return err
	}
	next := j.memory
	if j.file == nil {
		next.Bases = maps.Clone(next.Bases)
		apply(&next, s)
	}
	if err := j.write(next, s); err != nil {
		return fmt.Errorf("writing state %q: %w", j.path, err)
	}
	for _, k := range s.bases {
		if old, ok := j.memory.Bases[k.key]; ok {
			j.live -= estimate(k.key, old)
		}
		if !isZero(k.base) {
			j.live += estimate(k.key, k.base)
		}
	}
	apply(&j.memory, s)
	j.compact()
	return nil
}

// write appends a step, or replaces the file by next, which has it.
func (j *journal) write(next api.Memory, s *step) error {
	if j.file == nil {
		return j.replace(next)
	}
	encoded, err := s.encode().appendTo(nil)
	if err != nil {
		return err
	}
	return j.append(encoded)
}

// openFile opens a file that was loaded, for appending.
func (j *journal) openFile() error {
	if j.file != nil || j.end == 0 {
		return nil
	}
	file, err := os.OpenFile(j.path, os.O_RDWR, fileMode)
	if err != nil {
		return fmt.Errorf("opening state %q: %w", j.path, err)
	}
	j.file = file
	return nil
}

func (j *journal) append(encoded []byte) error {
	err := j.appendDurably(encoded)
	if err != nil {
		// What of the line reached the disk is unknown, and after a failed fsync
		// it stays unknown: cut it off, and trust this file no more.
		err = errors.Join(err, j.file.Truncate(j.end), j.close())
		j.end = 0
	}
	return err
}

func (j *journal) appendDurably(encoded []byte) error {
	if j.torn {
		if err := j.file.Truncate(j.end); err != nil {
			return err
		}
		j.torn = false
	}
	if _, err := j.file.WriteAt(encoded, j.end); err != nil {
		return err
	}
	if planted.In(planted.StateNotDurable) {
		j.end += int64(len(encoded))
		return nil
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.end += int64(len(encoded))
	return nil
}

// compact replaces a file that is mostly history. The commit before it is
// durable already, so a failure only puts compaction off.
func (j *journal) compact() {
	const floor = 256 << 10 // bytes below which nothing is gained
	if j.end < max(floor, 3*j.live, j.retryAt) {
		return
	}
	before := j.end
	if err := j.replace(j.memory); err != nil {
		j.retryAt = 2 * before
		return
	}
	j.retryAt = 0
}

// replace writes a whole state to a new file in the place of the old one.
func (j *journal) replace(memory api.Memory) error {
	data, err := encode(memory)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(j.path, data, fileMode); err != nil {
		return err
	}
	err = j.close()
	j.end, j.torn = int64(len(data)), false
	return err
}

func encode(memory api.Memory) ([]byte, error) {
	head := line{Format: format, Push: memory.LastPush, Pull: memory.LastPull, Rules: memory.Rules}
	if memory.Epoch != "" || memory.Version != 0 {
		head.View = &api.Position{Epoch: memory.Epoch, Version: memory.Version}
	}
	data, err := head.appendTo(nil)
	if err != nil {
		return nil, err
	}
	part := line{Bases: map[string]*base{}}
	for key, b := range memory.Bases {
		part.Bases[key.String()] = encodeBase(b)
		if len(part.Bases) < linesKeys {
			continue
		}
		if data, err = part.appendTo(data); err != nil {
			return nil, err
		}
		clear(part.Bases)
	}
	if len(part.Bases) == 0 {
		return data, nil
	}
	return part.appendTo(data)
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}
