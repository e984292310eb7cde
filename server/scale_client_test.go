package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// crowdEnv makes the test binary a process that holds event streams open.
const crowdEnv = "TEAMMEMD_SERVER_CROWD"

func TestMain(m *testing.M) {
	if os.Getenv(crowdEnv) == "" {
		os.Exit(m.Run())
	}
	if err := beCrowd(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// crowdOrder is what the process is told, in one line of JSON: its tokens come in
// this way, for an environment and a command line can be read by others.
type crowdOrder struct {
	Addr    string
	Streams []crowdStream
	// Rounds is how many events each stream gets beyond its first. When they came is
	// reported after each round, in one line of JSON.
	Rounds int
}

// crowdStream is one event stream.
type crowdStream struct{ Token, Repo string }

// of returns an order of n streams like the first.
func (o crowdOrder) of(n int) crowdOrder {
	o.Streams = slices.Repeat(o.Streams[:1], n)
	return o
}

// crowd is a process with many event streams.
type crowd struct {
	tb    testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	left  sync.Once
}

// gather starts a process that opens the streams, and returns when each has had
// its first event.
func gather(tb testing.TB, order crowdOrder) *crowd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	c := &crowd{tb: tb, cmd: exec.CommandContext(tb.Context(), self)}
	c.cmd.Env = append(os.Environ(), crowdEnv+"=1")
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.leave)
	if err := json.NewEncoder(c.stdin).Encode(order); err != nil {
		tb.Fatal(err)
	}
	if line := c.line(); line != "open" {
		tb.Fatalf("the process with the streams says %q", line)
	}
	return c
}

// leave ends the process: it ends with its input. It may be called twice.
func (c *crowd) leave() {
	c.left.Do(func() {
		c.stdin.Close()
		if err := c.cmd.Wait(); err != nil && c.tb.Context().Err() == nil {
			c.tb.Errorf("the process with the streams: %v", err)
		}
	})
}

func (c *crowd) line() string {
	c.tb.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.tb.Fatalf("the process with the streams: %v", err)
	}
	return strings.TrimSpace(line)
}

// heard returns how long after began the next event of each stream came, the
// earliest first.
func (c *crowd) heard(began time.Time) []time.Duration {
	c.tb.Helper()
	var nanos []int64
	if err := json.Unmarshal([]byte(c.line()), &nanos); err != nil {
		c.tb.Fatal(err)
	}
	slices.Sort(nanos)
	after := make([]time.Duration, len(nanos))
	for i, n := range nanos {
		after[i] = time.Unix(0, n).Sub(began) // by the clock that both processes have
	}
	return after
}

// beCrowd is the other process.
func beCrowd(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	var order crowdOrder
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &order); err != nil {
		return err
	}
	came := make(chan time.Time, len(order.Streams))
	failed := make(chan error, 1)
	slots := make(chan struct{}, 64) // connections that are being made
	var open sync.WaitGroup
	for _, s := range order.Streams {
		open.Add(1)
		slots <- struct{}{}
		go func() {
			first := sync.OnceFunc(func() { <-slots; open.Done() })
			err := s.follow(order.Addr, func() { first() }, func(at time.Time) { came <- at })
			select {
			case failed <- fmt.Errorf("a stream of %s ended: %w", s.Repo, err):
			default:
			}
			first()
		}()
	}
	open.Wait()
	go func() { // the end of the input is the end of the process
		_, _ = io.Copy(io.Discard, lines)
		os.Exit(0)
	}()
	fmt.Fprintln(out, "open")
	for range order.Rounds {
		nanos := make([]int64, 0, len(order.Streams))
		for range order.Streams {
			select {
			case at := <-came:
				nanos = append(nanos, at.UnixNano())
			case err := <-failed:
				return err
			}
		}
		if err := json.NewEncoder(out).Encode(nanos); err != nil {
			return err
		}
	}
	return <-failed
}

// follow opens the stream, and calls open at its first event and next at every
// later one.
func (s crowdStream) follow(addr string, open func(), next func(time.Time)) error {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s?repo=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", api.PathEvents, s.Repo, addr, s.Token); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, 1024)
	status, err := in.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("answer %q: %w", status, err)
	}
	for seen := 0; ; {
		line, err := in.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case !bytes.HasPrefix(line, []byte("data: ")):
		case seen == 0:
			seen++
			open()
		default:
			next(time.Now())
		}
	}
}
