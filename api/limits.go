package api

import "time"

// Limits of the protocol. A server may be configured lower, never higher.
const (
	// MaxEntryBytes is the largest content of one entry, in bytes of UTF-8.
	MaxEntryBytes = 250_000
	// MaxBatchBytes is the largest PUT body that our clients send, in bytes of
	// encoded JSON, unless a single entry alone is larger.
	MaxBatchBytes = 200_000
	// MaxBodyBytes is the largest PUT body that a server accepts, in bytes.
	MaxBodyBytes = 2 << 20
	// MaxKeyBytes is the longest key, in bytes of UTF-8.
	MaxKeyBytes = 1024
	// MaxSegmentBytes is the longest segment of a key, in bytes of UTF-8: file
	// systems stop at 255, and temporary names need room.
	MaxSegmentBytes = 200
	// MaxSegments is the largest number of segments in a key.
	MaxSegments = 20
	// MaxEntries is the default cap on live entries of one repo.
	MaxEntries = 20_000
)

// Timing that both sides of the wire must agree on.
const (
	// ClientTimeout bounds one request of a client.
	ClientTimeout = 30 * time.Second
	// Heartbeat is the interval of comments on an idle event stream; a client
	// takes a stream for dead after two missed ones.
	Heartbeat = 20 * time.Second
	// MaxWait bounds a long poll.
	MaxWait = 25 * time.Second
	// PollInterval is the fallback of a client without a stream, before jitter.
	PollInterval = 30 * time.Second
)

// Paths of the HTTP interface.
const (
	PathTeamMemory = "/api/claude_code/team_memory"
	PathEvents     = "/api/v1/events"
	PathHistory    = "/api/v1/history"
	PathContent    = "/api/v1/content"
	PathRestore    = "/api/v1/restore"
	PathRedact     = "/api/v1/redact"
	// PathRedactions tells of redactions that were made.
	PathRedactions = "/api/v1/redactions"
	PathSearch     = "/api/v1/search"
	PathJoin       = "/api/v1/join"
	PathJoinCodes  = "/api/v1/join-codes"
	PathScanPolicy = "/api/v1/scan-policy"
	PathScanMarks  = "/api/v1/scan-marks"
	PathWhoAmI     = "/api/v1/whoami"
	PathSignIns    = "/api/v1/sign-ins"
	PathAudit      = "/api/v1/audit"
	PathVersion    = "/version"
	PathOpenAPI    = "/openapi.json"
	// PathSignInMetadata names those below that clients of the authorization server
	// need.
	PathSignInMetadata = "/.well-known/oauth-authorization-server"
	PathAuthorize      = "/oauth/authorize"
	PathToken          = "/oauth/token"
	PathDeviceCode     = "/oauth/device_authorization"
	PathRevoke         = "/oauth/revoke"
	PathIntrospect     = "/oauth/introspect"
	PathDevice         = "/device" // where people type the code of a device
	PathSignIn         = "/oauth/sign-in"
	PathSignOut        = "/oauth/sign-out"
	PathForgeCallback  = "/oauth/callback/forge"
	PathOIDCCallback   = "/oauth/callback/oidc"

	PathLive  = "/livez"
	PathReady = "/readyz"
	// PathWebhookGitHub and the two after it are where a forge sends by itself; the
	// last segment is its kind.
	PathWebhookGitHub = "/api/v1/webhooks/github"
	PathWebhookGitLab = "/api/v1/webhooks/gitlab"
	PathWebhookGitea  = "/api/v1/webhooks/gitea"
)

// ClientCLI is the client id of the command line: public, without a secret.
const ClientCLI = "teammemd-cli"

// Headers of our additions to the protocol.
const (
	// HeaderProtocol carries [Protocol] on every answer of a teammemd server; a
	// client tells a base server by its absence.
	HeaderProtocol = "Teammemd-Protocol"
	// HeaderState carries "<epoch>;<version>" of the repo, 304 included.
	HeaderState = "Teammemd-State"
	// HeaderRequest carries an id that the server made for the request; its logs
	// have it as request_id.
	HeaderRequest = "X-Request-Id"
	// HeaderPolicy carries the revision of the repo's scan policy on answers about
	// its state, 304 included; it is absent while there never was an entry.
	HeaderPolicy = "Teammemd-Scan-Policy"
	// HeaderActorPerson, and the three after it, name the actor of a write: UTF-8
	// text, percent-encoded, at most [MaxActorBytes] bytes each after decoding.
	HeaderActorPerson  = "Teammemd-Actor-Person"
	HeaderActorDevice  = "Teammemd-Actor-Device"
	HeaderActorAgent   = "Teammemd-Actor-Agent"
	HeaderActorSession = "Teammemd-Actor-Session"
	// HeaderDevice carries a checkout's id on every request: 32 hexadecimal digits
	// that it drew at random for itself.
	HeaderDevice = "Teammemd-Device"
	// HeaderCleaned says which of the repo's redactions the checkout has carried out:
	// "<epoch>;<version>", all that the ledger had at that state.
	HeaderCleaned = "Teammemd-Cleaned"

	// Protocol is the value of [HeaderProtocol].
	Protocol = "1"
	// MaxActorBytes bounds each part of an actor, in bytes.
	MaxActorBytes = 200
)
