package openapi

import "github.com/teammem/teammemd/api"

// Who may call an operation, beside the names of roles.
const anyToken = "token"

const (
	reader     = "reader"
	writer     = "writer"
	maintainer = "maintainer"
	html       = "text/html"
)

var (
	ofRepo    = parameter{name: "repo", about: "owner/repo, or host/group/.../repo", required: true}
	ofKey     = parameter{name: "key", about: "The path of an entry.", required: true}
	wholeLook = []parameter{
		ofRepo,
		{name: "view", about: "hashes: checksums without contents."},
		{name: "since", about: "Only what changed after this version, with epoch.", number: true},
		{name: "epoch", about: "The epoch that since and after count in."},
		{name: "keys", about: "Only this key; may be repeated."},
		{name: "wait", about: "Long poll: seconds to wait for a change, with after.", number: true},
		{name: "after", about: "The version that the caller knows.", number: true},
	}
)

// operations is the whole interface, in the order of docs/api.md.
var operations = []operation{
	{method: "GET", path: api.PathTeamMemory, summary: "Everything of a repo, or its hashes", who: reader, query: wholeLook, out: api.FullAnswer{}, also: []int{304}},
	{method: "PUT", path: api.PathTeamMemory, summary: "Write entries, retire keys: all or nothing", who: writer, query: []parameter{ofRepo}, in: api.PushRequest{}, out: api.PushAnswer{}},
	{method: "GET", path: api.PathEvents, summary: "A stream of versions that repos have reached", who: reader, query: []parameter{ofRepo}, media: "text/event-stream"},
	{method: "GET", path: api.PathHistory, summary: "Versions, newest first", who: reader, query: []parameter{
		ofRepo, {name: "key", about: "Of this key alone."}, {name: "limit", about: "At most 1,000; 100 by default.", number: true},
	}, out: api.HistoryAnswer{}},
	{method: "GET", path: api.PathContent, summary: "One key as a version wrote it", who: reader, query: []parameter{
		ofRepo, ofKey, {name: "version", about: "The repo's version that wrote it.", required: true, number: true},
	}, out: api.ContentAnswer{}},
	{method: "POST", path: api.PathRestore, summary: "Put an earlier version of a key in place again", who: maintainer, in: api.RestoreRequest{}, out: api.PushAnswer{}},
	{method: "POST", path: api.PathRedact, summary: "Take contents away for good", who: maintainer, in: api.RedactRequest{}, out: api.RedactAnswer{}},
	{method: "GET", path: api.PathRedactions, summary: "Redactions, and which checkouts have cleaned up", who: maintainer, query: []parameter{
		ofRepo, {name: "id", about: "Of this one alone, with its devices.", number: true},
	}, out: api.RedactionsAnswer{}},
	{method: "GET", path: api.PathSearch, summary: "Live entries that a query finds, best first", who: reader, query: []parameter{
		ofRepo,
		{name: "q", about: "Words, \"phrases\", beginnings*, -exclusions, key:patterns.", required: true},
		{name: "limit", about: "At most 100; 20 by default.", number: true},
		{name: "offset", about: "Results to pass over.", number: true},
	}, out: api.SearchAnswer{}},
	{method: "GET", path: api.PathScanPolicy, summary: "What the repo's maintainers let pass the scanner", who: reader, query: []parameter{
		ofRepo, {name: "all", about: "true: also what ended or expired."},
	}, out: api.PolicyAnswer{}},
	{method: "PUT", path: api.PathScanPolicy, summary: "Let the findings of a rule pass", who: maintainer, in: api.PolicyRequest{}, out: api.PolicyEntry{}},
	{method: "DELETE", path: api.PathScanPolicy, summary: "End an entry of the scan policy", who: maintainer, query: []parameter{
		ofRepo, {name: "id", about: "The entry's.", required: true},
	}, out: api.PolicyAnswer{}},
	{method: "GET", path: api.PathScanMarks, summary: "Live entries that would be refused today", who: maintainer, query: []parameter{ofRepo}, out: api.MarksAnswer{}},
	{method: "POST", path: api.PathJoinCodes, summary: "Make a single-use code to join a repo", who: maintainer, in: api.JoinCodeRequest{}, out: api.JoinCodeAnswer{}},
	{method: "GET", path: api.PathWhoAmI, summary: "What the token is taken for", who: anyToken, query: []parameter{
		{name: "repo", about: "The role is then that in this repo."},
	}, out: api.WhoAmI{}},
	{method: "GET", path: api.PathSignIns, summary: "The sign-ins of whoever asks", who: anyToken, query: []parameter{
		{name: "user", about: "Of this person, by id or login, for administrators; empty: of everybody."},
	}, out: api.SignInsAnswer{}},
	{method: "DELETE", path: api.PathSignIns, summary: "End sign-ins", who: anyToken, query: []parameter{
		{name: "id", about: "The sign-in's; all, or others: all but the one that asks.", required: true},
		{name: "user", about: "Of this person, by id or login, for administrators."},
	}, out: api.SignInsAnswer{}},
	{method: "GET", path: api.PathAudit, summary: "Who did what: rows of the audit chain of a repo, oldest first", who: maintainer, query: []parameter{
		{name: "repo", about: "Left out for the server's own chain, which is for administrators."},
		{name: "after", about: "Only rows after this number.", number: true},
		{name: "limit", about: "At most 1,000; 100 by default.", number: true},
	}, out: api.AuditAnswer{}},
	{method: "POST", path: api.PathJoin, summary: "Spend a code on a token", in: api.JoinRequest{}, out: api.JoinAnswer{}},
	{method: "POST", path: api.PathWebhookGitHub, summary: "What GitHub sends by itself, signed"},
	{method: "POST", path: api.PathWebhookGitLab, summary: "What GitLab sends by itself, with its secret"},
	{method: "POST", path: api.PathWebhookGitea, summary: "What Gitea sends by itself, signed"},
	{method: "GET", path: api.PathVersion, summary: "What this server can do", out: api.ServerVersion{}},
	{method: "GET", path: api.PathOpenAPI, summary: "This document", media: "application/json"},
	{method: "GET", path: api.PathLive, summary: "Whether the process lives"},
	{method: "GET", path: api.PathReady, summary: "Whether it takes requests", also: []int{503}},

	{method: "GET", path: api.PathSignInMetadata, summary: "The endpoints of the authorization server (RFC 8414)"},
	{method: "POST", path: api.PathDeviceCode, summary: "Begin a device grant (RFC 8628); a form"},
	{method: "POST", path: api.PathToken, summary: "Tokens for a grant (RFC 6749); a form"},
	{method: "POST", path: api.PathRevoke, summary: "End a token or a sign-in (RFC 7009); a form"},
	{method: "POST", path: api.PathIntrospect, summary: "What a token is (RFC 7662); a form, for administrators", who: "admin"},
	{method: "GET", path: api.PathAuthorize, summary: "The page that asks for consent", media: html},
	{method: "POST", path: api.PathAuthorize, summary: "Consent, or not", media: html, also: []int{303}},
	{method: "GET", path: api.PathDevice, summary: "The page for the code of a device", media: html},
	{method: "POST", path: api.PathDevice, summary: "Approve a device, or not", media: html},
	{method: "GET", path: api.PathSignIn, summary: "The page to sign in", media: html},
	{method: "POST", path: api.PathSignIn, summary: "Sign in", media: html, also: []int{303}},
	{method: "POST", path: api.PathSignOut, summary: "Sign out of the pages", media: html, also: []int{303}},
	{method: "GET", path: api.PathForgeCallback, summary: "Where the forge sends the browser back to", media: html, also: []int{303}},
	{method: "GET", path: api.PathOIDCCallback, summary: "Where the provider sends the browser back to", media: html, also: []int{303}},
}
