CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value ANY
) WITHOUT ROWID, STRICT;

-- One row a repo; its number stands in for the name in every other table.
CREATE TABLE repos (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  version     INTEGER NOT NULL,
  modified_ms INTEGER NOT NULL
) STRICT;

-- A body is kept once a repo, however many versions have it.
CREATE TABLE bodies (
  repo    INTEGER NOT NULL,
  sum     BLOB NOT NULL,
  content TEXT NOT NULL,
  UNIQUE (repo, sum)
) STRICT;

-- The head: what is live, and what was retired.
CREATE TABLE entries (
  repo        INTEGER NOT NULL,
  key         TEXT NOT NULL,
  sum         BLOB NOT NULL,
  bytes       INTEGER NOT NULL,
  version     INTEGER NOT NULL,
  modified_ms INTEGER NOT NULL,
  PRIMARY KEY (repo, key)
) WITHOUT ROWID, STRICT;

CREATE TABLE tombs (
  repo    INTEGER NOT NULL,
  key     TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (repo, key)
) WITHOUT ROWID, STRICT;

-- History: append only. sum is NULL for a retirement and for a redacted version.
CREATE TABLE versions (
  repo     INTEGER NOT NULL,
  key      TEXT NOT NULL,
  version  INTEGER NOT NULL,
  op       TEXT NOT NULL,
  sum      BLOB,
  bytes    INTEGER NOT NULL,
  at_ms    INTEGER NOT NULL,
  token    TEXT NOT NULL,
  person   TEXT NOT NULL,
  device   TEXT NOT NULL,
  agent    TEXT NOT NULL,
  session  TEXT NOT NULL,
  rules    TEXT NOT NULL,
  redacted INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (repo, key, version)
) WITHOUT ROWID, STRICT;

CREATE INDEX versions_by_time ON versions (repo, version);

-- The ledger of contents that must never come back.
CREATE TABLE redactions (
  repo  INTEGER NOT NULL,
  sum   BLOB NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (repo, sum)
) WITHOUT ROWID, STRICT;

-- Credentials by the SHA-256 of their secret. Times are milliseconds, 0 = never.
CREATE TABLE tokens (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE,
  repos      TEXT NOT NULL,
  role       TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  revoked_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE join_codes (
  hash       BLOB PRIMARY KEY,
  repo       TEXT NOT NULL,
  role       TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  tries      INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
