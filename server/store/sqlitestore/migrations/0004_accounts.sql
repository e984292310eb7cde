-- Of which sign-in a token is; '' for a service token.
ALTER TABLE tokens ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN family TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;

CREATE INDEX tokens_by_family ON tokens (family) WHERE family <> '';

-- People who signed in. user_groups and members are JSON; upstream is sealed.
CREATE TABLE users (
  id          TEXT PRIMARY KEY,
  issuer      TEXT NOT NULL,
  subject     TEXT NOT NULL,
  login       TEXT NOT NULL,
  name        TEXT NOT NULL,
  email       TEXT NOT NULL,
  user_groups TEXT NOT NULL,
  members     TEXT NOT NULL,
  upstream    BLOB,
  created_ms  INTEGER NOT NULL,
  seen_ms     INTEGER NOT NULL,
  UNIQUE (issuer, subject)
) STRICT;

-- Sign-ins under way, by the SHA-256 of their secrets.
CREATE TABLE sign_ins (
  kind        TEXT NOT NULL,
  hash        BLOB NOT NULL,
  user_hash   BLOB UNIQUE,
  client      TEXT NOT NULL,
  user        TEXT NOT NULL,
  denied      INTEGER NOT NULL,
  device      TEXT NOT NULL,
  challenge   TEXT NOT NULL,
  redirect    TEXT NOT NULL,
  family      TEXT NOT NULL,
  created_ms  INTEGER NOT NULL,
  expires_ms  INTEGER NOT NULL,
  polled_ms   INTEGER NOT NULL,
  interval_ms INTEGER NOT NULL,
  tries       INTEGER NOT NULL,
  PRIMARY KEY (kind, hash)
) STRICT;

CREATE INDEX sign_ins_by_end ON sign_ins (expires_ms);

-- Families of tokens: one sign-in on one machine.
CREATE TABLE families (
  id         TEXT PRIMARY KEY,
  user       TEXT NOT NULL,
  client     TEXT NOT NULL,
  device     TEXT NOT NULL,
  generation INTEGER NOT NULL,
  proven     INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  rotated_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  revoked_ms INTEGER NOT NULL,
  why        TEXT NOT NULL
) STRICT;

CREATE INDEX families_by_user ON families (user);
CREATE INDEX families_by_end ON families (expires_ms);

-- Refresh tokens, spent ones included; spent_ms is when the generation after
-- theirs was first given out, 0 for the newest.
CREATE TABLE refresh_tokens (
  hash       BLOB PRIMARY KEY,
  family     TEXT NOT NULL,
  generation INTEGER NOT NULL,
  spent_ms   INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family, spent_ms);
