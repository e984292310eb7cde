package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// Hashes returns the server's hashes view, or NotModified when its checksum is
// known.
func (c *Client) Hashes(ctx context.Context, known api.Checksum) (*api.View, error) {
	req, err := c.request(ctx, http.MethodGet, api.PathTeamMemory, url.Values{"repo": {c.repo.String()}, "view": {"hashes"}}, nil)
	if err != nil {
		return nil, err
	}
	if !known.IsZero() {
		req.Header.Set("If-None-Match", `"`+known.String()+`"`)
	}
	var hashes api.HashesAnswer
	got, err := c.call(req, &hashes)
	if err != nil {
		return nil, err
	}
	c.learnPolicy(ctx, got.header.Get(api.HeaderPolicy))
	if got.status == http.StatusNotModified {
		view := &api.View{NotModified: true}
		view.Epoch, view.Version = parseState(got.header.Get(api.HeaderState))
		return view, nil
	}
	// Base servers need not repeat the repo in this view.
	if !hashes.Repo.IsZero() && hashes.Repo != c.repo {
		return nil, fmt.Errorf("%w: it answered for another repo", api.ErrBadAnswer)
	}
	if hashes.EntryChecksums == nil || hashes.Checksum.IsZero() {
		return nil, fmt.Errorf("%w: its hashes view has no checksums", api.ErrBadAnswer)
	}
	return view(hashes, got.isOurs()), nil
}

// Confirm tells the server that this checkout keeps nothing of what was redacted up
// to a position of its, and goes on saying so with every request, should the
// server have lost it. known is the checksum of that state, so that the answer is
// short.
func (c *Client) Confirm(ctx context.Context, at api.Position, known api.Checksum) error {
	cleaned := at.Epoch + ";" + strconv.FormatUint(at.Version, 10)
	c.cleaned.Store(&cleaned)
	_, err := c.Hashes(ctx, known)
	return err
}

// view checks every key and sum of an answer.
func view(answer api.HashesAnswer, ours bool) *api.View {
	v := &api.View{
		Base:     !ours,
		Epoch:    answer.Epoch,
		Version:  answer.Version,
		Checksum: answer.Checksum,
		Sums:     make(map[api.Key]api.Checksum, len(answer.EntryChecksums)),
		Tombs:    make(map[api.Key]uint64, len(answer.DeletedEntries)),
		Redacted: answer.Redacted,
	}
	for text, rules := range answer.EntryAllowed {
		if key, err := api.ParseKey(text); err == nil && len(rules) > 0 {
			if v.Allowed == nil {
				v.Allowed = make(map[api.Key]map[string]string)
			}
			v.Allowed[key] = rules
		}
	}
	for _, text := range slices.Sorted(maps.Keys(answer.EntryChecksums)) {
		key, keyErr := api.ParseKey(text)
		sum, sumErr := api.ParseChecksum(answer.EntryChecksums[text])
		if keyErr != nil || sumErr != nil {
			v.Invalid = append(v.Invalid, printable(text))
			continue
		}
		v.Sums[key] = sum
	}
	for text, version := range answer.DeletedEntries {
		key, err := api.ParseKey(text)
		if err != nil {
			v.Invalid = append(v.Invalid, printable(text))
			continue
		}
		if _, live := v.Sums[key]; !live && version > 0 {
			v.Tombs[key] = version
		}
	}
	return v
}

// printable quotes what is not fit for a terminal, and cuts it.
func printable(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	if quoted == `"`+text+`"` {
		quoted = text
	}
	if len(quoted) > 120 {
		quoted = quoted[:120] + "..."
	}
	return strings.ToValidUTF8(quoted, "?")
}

// parseState reads "<epoch>;<version>".
func parseState(header string) (epoch string, version uint64) {
	epoch, number, ok := strings.Cut(header, ";")
	version, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return "", 0
	}
	return epoch, version
}

// Push sends one batch.
func (c *Client) Push(ctx context.Context, batch api.Batch) (api.Pushed, error) {
	body, err := encode(batch)
	if err != nil {
		return api.Pushed{}, err
	}
	return c.put(ctx, body, batch.IfMatch)
}

// put sends the body of one write, under the condition ifMatch unless it is zero.
func (c *Client) put(ctx context.Context, body []byte, ifMatch api.Checksum) (api.Pushed, error) {
	req, err := c.request(ctx, http.MethodPut, api.PathTeamMemory, url.Values{"repo": {c.repo.String()}}, body)
	if err != nil {
		return api.Pushed{}, err
	}
	if !ifMatch.IsZero() {
		req.Header.Set("If-Match", `"`+ifMatch.String()+`"`)
	}
	var answer api.PushAnswer
	if _, err := c.call(req, &answer); err != nil {
		return api.Pushed{}, err
	}
	if !answer.Repo.IsZero() && answer.Repo != c.repo {
		return api.Pushed{}, fmt.Errorf("%w: it answered for another repo", api.ErrBadAnswer)
	}
	if answer.Checksum.IsZero() || answer.Version == 0 {
		return api.Pushed{}, fmt.Errorf("%w: its answer to a write has no checksum or version", api.ErrBadAnswer)
	}
	pushed := api.Pushed{Epoch: answer.Epoch, Version: answer.Version, Checksum: answer.Checksum, Unchanged: answer.Unchanged}
	for _, text := range answer.Ignored {
		if key, err := api.ParseKey(text); err == nil {
			pushed.Ignored = append(pushed.Ignored, key)
		}
	}
	return pushed, nil
}

// encode writes a PUT body: sorted keys, no HTML escaping, no newline.
func encode(batch api.Batch) ([]byte, error) {
	put := api.PushRequest{Entries: make(map[string]string, len(batch.Entries)), Expect: make(map[string]string, len(batch.Entries))}
	for _, o := range batch.Entries {
		if !utf8.ValidString(o.Content) {
			return nil, fmt.Errorf("%w: %q is not UTF-8", api.ErrRefused, o.Key)
		}
		for _, rule := range slices.Sorted(maps.Keys(o.Allowed)) {
			put.Allowed = append(put.Allowed, api.Allowed{Key: o.Key.String(), Rule: rule, Reason: o.Allowed[rule]})
		}
		put.Entries[o.Key.String()] = o.Content
		put.Expect[o.Key.String()] = o.Expect
	}
	if planted.In(planted.NoPrecondition) {
		put.Expect = nil
	}
	return encodePut(put)
}

func encodePut(put api.PushRequest) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(put); err != nil {
		return nil, fmt.Errorf("encoding a batch: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// maxQueryBytes bounds the keys in one URL; proxies refuse much longer ones.
const maxQueryBytes = 6000

// Pull returns the contents of keys, of all keys for nil. Long lists are asked
// for in several requests.
func (c *Client) Pull(ctx context.Context, keys []api.Key) (api.Pulled, error) {
	if keys == nil || !c.ours.Load() {
		return c.pullOnce(ctx, nil)
	}
	var all api.Pulled
	for len(keys) > 0 {
		n, size := 0, 0
		for n < len(keys) && (n == 0 || size < maxQueryBytes) {
			size += len("&keys=") + len(url.QueryEscape(keys[n].String()))
			n++
		}
		part, err := c.pullOnce(ctx, keys[:n])
		if err != nil {
			return api.Pulled{}, err
		}
		all.Entries = append(all.Entries, part.Entries...)
		all.Invalid = append(all.Invalid, part.Invalid...)
		all.At = part.At
		keys = keys[n:]
	}
	return all, nil
}

func (c *Client) pullOnce(ctx context.Context, keys []api.Key) (api.Pulled, error) {
	query := url.Values{"repo": {c.repo.String()}}
	for _, key := range keys {
		query.Add("keys", key.String())
	}
	req, err := c.request(ctx, http.MethodGet, api.PathTeamMemory, query, nil)
	if err != nil {
		return api.Pulled{}, err
	}
	var answer api.FullAnswer
	if _, err := c.call(req, &answer); err != nil {
		return api.Pulled{}, err
	}
	if answer.Repo != c.repo {
		return api.Pulled{}, fmt.Errorf("%w: it answered for another repo", api.ErrBadAnswer)
	}
	pulled := check(answer.Content)
	pulled.At = api.Position{Epoch: answer.Epoch, Version: answer.Version}
	return pulled, nil
}

// check keeps the entries that are what they say they are.
func check(content api.FullContent) api.Pulled {
	var pulled api.Pulled
	for _, text := range slices.Sorted(maps.Keys(content.Entries)) {
		body := content.Entries[text]
		key, err := api.ParseKey(text)
		sum := api.SumString(body)
		claimed, listed := content.EntryChecksums[text]
		if err != nil || len(body) > api.MaxEntryBytes || listed && claimed != sum.String() {
			pulled.Invalid = append(pulled.Invalid, printable(text))
			continue
		}
		pulled.Entries = append(pulled.Entries, api.Incoming{
			Key: key, Content: body, Sum: sum, Modified: sane(content.EntryModified[text]), Allowed: content.EntryAllowed[text],
		})
	}
	return pulled
}

// sane drops times that a file system or an agent's sorting would choke on.
func sane(t time.Time) time.Time {
	if t.Year() < 1980 || t.After(time.Now().Add(24*time.Hour)) {
		return time.Time{}
	}
	return t
}
