package api

// Reason says why a key is held: kept local, neither pushed nor displaced.
type Reason string

// The reasons, as they are shown and sent in JSON.
const (
	HeldSecret            Reason = "secret"
	HeldSecretOnServer    Reason = "secret-on-server"
	HeldTooLarge          Reason = "too-large"
	HeldEmpty             Reason = "empty"
	HeldNotText           Reason = "not-text"
	HeldBadName           Reason = "bad-name"
	HeldCaseTwin          Reason = "case-twin"
	HeldLink              Reason = "link"
	HeldUnreadable        Reason = "unreadable"
	HeldPrivateType       Reason = "private-type"
	HeldForgottenOnServer Reason = "forgotten-on-server"
	HeldRefusedByServer   Reason = "refused-by-server"
	HeldRedacted          Reason = "redacted"
	HeldUnstable          Reason = "unstable"
)
