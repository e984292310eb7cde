package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/teammem/teammemd/api"
)

// History returns the versions of one key, newest first, of all keys for the zero
// Key; as many as the server likes to send for a limit of 0. A key that was never
// written has none.
func (c *Client) History(ctx context.Context, key api.Key, limit int) ([]api.VersionInfo, error) {
	query := url.Values{"repo": {c.repo.String()}}
	if !key.IsZero() {
		query.Set("key", key.String())
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var answer api.HistoryAnswer
	if err := c.ask(ctx, http.MethodGet, api.PathHistory, query, nil, &answer); err != nil {
		return nil, err
	}
	return answer.Versions, nil
}

// Content returns one key as it was written at a version.
func (c *Client) Content(ctx context.Context, key api.Key, version uint64) (api.ContentAnswer, error) {
	query := url.Values{"repo": {c.repo.String()}, "key": {key.String()}, "version": {strconv.FormatUint(version, 10)}}
	var answer api.ContentAnswer
	if err := c.ask(ctx, http.MethodGet, api.PathContent, query, nil, &answer); err != nil {
		return api.ContentAnswer{}, err
	}
	if api.SumString(answer.Content) != answer.Checksum {
		return api.ContentAnswer{}, fmt.Errorf("%w: a content does not match its checksum", api.ErrBadAnswer)
	}
	return answer, nil
}

// Search returns the entries that a query finds, best first, at most limit of them
// after offset; as many as the server likes to send for a limit of 0. A server
// without search answers [api.ErrNotFound].
func (c *Client) Search(ctx context.Context, query string, limit, offset int) (api.SearchAnswer, error) {
	values := url.Values{"repo": {c.repo.String()}, "q": {query}}
	if limit > 0 {
		values.Set("limit", strconv.Itoa(limit))
	}
	if offset > 0 {
		values.Set("offset", strconv.Itoa(offset))
	}
	var answer api.SearchAnswer
	err := c.ask(ctx, http.MethodGet, api.PathSearch, values, nil, &answer)
	return answer, err
}

// Restore makes the content that key had at version its newest one. It is for
// maintainers, and revives a retired key.
func (c *Client) Restore(ctx context.Context, key api.Key, version uint64) (api.PushAnswer, error) {
	var answer api.PushAnswer
	err := c.ask(ctx, http.MethodPost, api.PathRestore, nil, api.RestoreRequest{Repo: c.repo, Key: key.String(), Version: version}, &answer)
	return answer, err
}

// Redact takes contents away for good. It is for maintainers. Nothing of the
// request is part of any error.
func (c *Client) Redact(ctx context.Context, request api.RedactRequest) (api.RedactAnswer, error) {
	request.Repo = c.repo
	var answer api.RedactAnswer
	err := c.ask(ctx, http.MethodPost, api.PathRedact, nil, request, &answer)
	return answer, err
}

// Redactions tells of the redactions of the repo, or with id of that one, with the
// checkouts that may have it. It is for maintainers.
func (c *Client) Redactions(ctx context.Context, id uint64) ([]api.RedactionReport, error) {
	query := url.Values{"repo": {c.repo.String()}}
	if id > 0 {
		query.Set("id", strconv.FormatUint(id, 10))
	}
	var answer api.RedactionsAnswer
	err := c.ask(ctx, http.MethodGet, api.PathRedactions, query, nil, &answer)
	return answer.Redactions, err
}

// WhoAmI says what the server takes the token for, and what it allows in the
// client's repo, if it has one.
func (c *Client) WhoAmI(ctx context.Context) (api.WhoAmI, error) {
	var query url.Values
	if !c.repo.IsZero() {
		query = url.Values{"repo": {c.repo.String()}}
	}
	var answer api.WhoAmI
	err := c.ask(ctx, http.MethodGet, api.PathWhoAmI, query, nil, &answer)
	return answer, err
}

// SignIns lists the live sign-ins of whoever bears the token, oldest first.
func (c *Client) SignIns(ctx context.Context) ([]api.SignIn, error) {
	var answer api.SignInsAnswer
	err := c.ask(ctx, http.MethodGet, api.PathSignIns, nil, nil, &answer)
	return answer.SignIns, err
}

// EndSignIns ends one of them, "all", or "others": all but that of the token. It
// returns those that it ended.
func (c *Client) EndSignIns(ctx context.Context, id string) ([]api.SignIn, error) {
	var answer api.SignInsAnswer
	err := c.ask(ctx, http.MethodDelete, api.PathSignIns, url.Values{"id": {id}}, nil, &answer)
	return answer.SignIns, err
}

// Join spends a single-use code on a token. Neither is part of any error.
func (c *Client) Join(ctx context.Context, code, device string) (api.JoinAnswer, error) {
	var answer api.JoinAnswer
	if err := c.ask(ctx, http.MethodPost, api.PathJoin, nil, api.JoinRequest{Code: code, Device: device}, &answer); err != nil {
		return api.JoinAnswer{}, err
	}
	if answer.Token == "" || answer.Repo.IsZero() {
		return api.JoinAnswer{}, fmt.Errorf("%w: its answer to the code has no token", api.ErrBadAnswer)
	}
	return answer, nil
}

// ask makes one request with JSON both ways.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encoding a request: %w", err)
		}
	}
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	_, err = c.call(req, out)
	return err
}
