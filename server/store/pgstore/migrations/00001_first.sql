-- Every table but the lookup tables begins its key with the repo's number, so
-- that it can be partitioned or distributed by it. Numbers are random: no
-- sequence is shared. Times are milliseconds since 1970, UTC; 0 is never.
-- pgstore's documentation says more.

-- +goose Up

-- Lookup tables: small, written seldom, copied to every node where the database
-- is distributed.
CREATE TABLE meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE repo_names (
  name text COLLATE "C" PRIMARY KEY,
  repo bigint NOT NULL
);

CREATE TABLE repo_identities (
  identity text COLLATE "C" PRIMARY KEY,
  repo     bigint NOT NULL
);

CREATE TABLE tokens (
  id         text COLLATE "C" PRIMARY KEY,
  name       text NOT NULL,
  hash       bytea NOT NULL UNIQUE,
  repos      text NOT NULL,
  role       text NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  revoked_ms bigint NOT NULL,
  account    text NOT NULL DEFAULT '',
  family     text COLLATE "C" NOT NULL DEFAULT '',
  generation bigint NOT NULL DEFAULT 0,
  used_ms    bigint NOT NULL DEFAULT 0
);

CREATE INDEX tokens_by_family ON tokens (family) WHERE family <> '';

CREATE TABLE join_codes (
  hash       bytea PRIMARY KEY,
  repo       text NOT NULL,
  role       text NOT NULL,
  expires_ms bigint NOT NULL,
  tries      int NOT NULL
);

-- People who signed in. user_groups and members are JSON; upstream is sealed.
CREATE TABLE users (
  id          text COLLATE "C" PRIMARY KEY,
  issuer      text NOT NULL,
  subject     text NOT NULL,
  login       text NOT NULL,
  name        text NOT NULL,
  email       text NOT NULL,
  user_groups text NOT NULL,
  members     text NOT NULL,
  upstream    bytea,
  created_ms  bigint NOT NULL,
  seen_ms     bigint NOT NULL,
  UNIQUE (issuer, subject)
);

-- Sign-ins under way, by the SHA-256 of their secrets.
CREATE TABLE sign_ins (
  kind        text NOT NULL,
  hash        bytea NOT NULL,
  user_hash   bytea UNIQUE,
  client      text NOT NULL,
  account     text NOT NULL,
  denied      boolean NOT NULL,
  device      text NOT NULL,
  challenge   text NOT NULL,
  redirect    text NOT NULL,
  family      text NOT NULL,
  created_ms  bigint NOT NULL,
  expires_ms  bigint NOT NULL,
  polled_ms   bigint NOT NULL,
  interval_ms bigint NOT NULL,
  tries       int NOT NULL,
  PRIMARY KEY (kind, hash)
);

CREATE INDEX sign_ins_by_end ON sign_ins (expires_ms);

-- Families of tokens: one sign-in on one machine.
CREATE TABLE families (
  id         text COLLATE "C" PRIMARY KEY,
  account    text NOT NULL,
  client     text NOT NULL,
  device     text NOT NULL,
  generation bigint NOT NULL,
  proven     bigint NOT NULL,
  created_ms bigint NOT NULL,
  rotated_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  revoked_ms bigint NOT NULL,
  why        text NOT NULL
);

CREATE INDEX families_by_account ON families (account);
CREATE INDEX families_by_end ON families (expires_ms);

-- Refresh tokens, spent ones included; spent_ms is when the generation after
-- theirs was first given out, 0 for the newest.
CREATE TABLE refresh_tokens (
  hash       bytea PRIMARY KEY,
  family     text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  spent_ms   bigint NOT NULL
);

CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family, spent_ms);

-- One row a repo; repo 0 is the server itself, which has a chain and nothing
-- else. Version 0 means that it was never written. The row is the repo's lock.
CREATE TABLE repos (
  repo         bigint PRIMARY KEY,
  name         text COLLATE "C" NOT NULL,
  identity     text NOT NULL DEFAULT '',
  version      bigint NOT NULL DEFAULT 0,
  modified_ms  bigint NOT NULL DEFAULT 0,
  audit_number bigint NOT NULL DEFAULT 0,
  audit_hash   bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex')
) WITH (fillfactor = 50);

-- A body is kept once a repo, however many versions have it.
CREATE TABLE bodies (
  repo    bigint NOT NULL,
  sum     bytea NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (repo, sum)
);

-- The head: what is live, and what was retired.
CREATE TABLE entries (
  repo        bigint NOT NULL,
  key         text COLLATE "C" NOT NULL,
  sum         bytea NOT NULL,
  bytes       int NOT NULL,
  version     bigint NOT NULL,
  modified_ms bigint NOT NULL,
  allowed     text NOT NULL,
  PRIMARY KEY (repo, key)
);

CREATE TABLE tombs (
  repo    bigint NOT NULL,
  key     text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (repo, key)
);

-- Who acted, by a pseudonym of the repo. actor is JSON, '' once it was erased;
-- digest is SHA-256 of it, so that the pseudonym is found again.
CREATE TABLE actors (
  repo   bigint NOT NULL,
  id     text COLLATE "C" NOT NULL,
  digest bytea,
  actor  text NOT NULL,
  PRIMARY KEY (repo, id),
  UNIQUE (repo, digest)
);

-- History: append only, but for redaction and pruning. sum is NULL for a
-- retirement, key and sum are NULL for a redacted version.
CREATE TABLE versions (
  repo     bigint NOT NULL,
  version  bigint NOT NULL,
  ordinal  int NOT NULL,
  key      text COLLATE "C",
  op       text NOT NULL,
  sum      bytea,
  bytes    int NOT NULL,
  at_ms    bigint NOT NULL,
  actor    text COLLATE "C" NOT NULL,
  rules    text NOT NULL,
  allowed  text NOT NULL,
  redacted boolean NOT NULL DEFAULT false,
  pruned   boolean NOT NULL DEFAULT false,
  salt     bytea,
  seal     bytea NOT NULL,
  PRIMARY KEY (repo, version, ordinal)
);

CREATE INDEX versions_by_key ON versions (repo, key, version);

-- The ledger of contents that must never come back.
CREATE TABLE redactions (
  repo  bigint NOT NULL,
  sum   bytea NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (repo, sum)
);

-- The chains. salt is NULL and detail '' once they were taken away.
CREATE TABLE audit (
  repo    bigint NOT NULL,
  number  bigint NOT NULL,
  action  text NOT NULL,
  actor   text COLLATE "C" NOT NULL,
  at_ms   bigint NOT NULL,
  version bigint NOT NULL,
  salt    bytea,
  detail  text NOT NULL,
  digest  bytea NOT NULL,
  seals   bytea NOT NULL,
  hash    bytea NOT NULL,
  PRIMARY KEY (repo, number)
);

-- What maintainers let pass. Rows are ended, never deleted; actors are
-- pseudonyms.
CREATE TABLE scan_policy (
  repo       bigint NOT NULL,
  number     bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  rule       text NOT NULL,
  keys       text NOT NULL,
  reason     text NOT NULL,
  actor      text COLLATE "C" NOT NULL,
  at_ms      bigint NOT NULL,
  expires_ms bigint NOT NULL,
  ended_ms   bigint NOT NULL DEFAULT 0,
  ended_by   text COLLATE "C",
  PRIMARY KEY (repo, number),
  UNIQUE (repo, id)
);

-- What scanning a repo's live entries again has found; marks are JSON.
CREATE TABLE rescans (
  repo  bigint PRIMARY KEY,
  rules text NOT NULL,
  at_ms bigint NOT NULL,
  marks text NOT NULL
);

-- One row for each transaction that changed something, for other servers and for
-- whoever lost sight of its own commit. A row of version -1 says that the change
-- was given up: it can no longer be committed. Old rows are deleted.
CREATE TABLE outbox (
  repo    bigint NOT NULL,
  change  uuid NOT NULL,
  name    text NOT NULL,
  version bigint NOT NULL,
  looked  int NOT NULL DEFAULT 0,
  tx      xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (repo, change)
);

CREATE INDEX outbox_by_tx ON outbox (tx);

INSERT INTO meta (name, value) VALUES
  ('epoch', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')),
  ('credential_generation', '1');
INSERT INTO repos (repo, name) VALUES (0, '');

-- lz4 where the server was built with it: a fifth of the time of the default.
-- +goose StatementBegin
DO $$
BEGIN
  ALTER TABLE bodies ALTER COLUMN content SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
  NULL;
END $$;
-- +goose StatementEnd

-- teammemd_actor returns an actor's pseudonym in a repo whose row is locked. A new
-- actor gets the id that is proposed.
-- +goose StatementBegin
CREATE FUNCTION teammemd_actor(p_repo bigint, p_id text, p_digest bytea, p_actor text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  found_id text;
BEGIN
  SELECT a.id INTO found_id FROM actors a WHERE a.repo = p_repo AND a.digest = p_digest;
  IF found_id IS NULL THEN
    INSERT INTO actors (repo, id, digest, actor) VALUES (p_repo, p_id, p_digest, p_actor);
    RETURN p_id;
  END IF;
  RETURN found_id;
END $$;
-- +goose StatementEnd

-- teammemd_chain adds one row to the chain of a repo whose row is locked, and
-- raises its version. The hash is store.AuditRow.Chain.
-- +goose StatementBegin
CREATE FUNCTION teammemd_chain(
  p_repo bigint, p_number bigint, p_before bytea, p_action text, p_actor text, p_at bigint, p_version bigint,
  p_salt bytea, p_detail text, p_digest bytea, p_seals bytea
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
  h bytea := sha256(p_before || int8send(p_number) || int8send(p_at) || int8send(p_version)
    || int4send(octet_length(p_action)) || convert_to(p_action, 'UTF8')
    || int4send(octet_length(p_actor)) || convert_to(p_actor, 'UTF8') || p_digest || p_seals);
BEGIN
  INSERT INTO audit (repo, number, action, actor, at_ms, version, salt, detail, digest, seals, hash)
  VALUES (p_repo, p_number, p_action, p_actor, p_at, p_version, p_salt, p_detail, p_digest, p_seals, h);
  RETURN h;
END $$;
-- +goose StatementEnd

-- teammemd_audit adds a row that belongs to no version.
-- +goose StatementBegin
CREATE FUNCTION teammemd_audit(
  p_repo bigint, p_actor_id text, p_actor_digest bytea, p_actor text,
  p_action text, p_at bigint, p_salt bytea, p_detail text, p_digest bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  n      bigint;
  before bytea;
BEGIN
  SELECT r.audit_number + 1, r.audit_hash INTO STRICT n, before FROM repos r WHERE r.repo = p_repo FOR NO KEY UPDATE;
  UPDATE repos SET audit_number = n, audit_hash = teammemd_chain(p_repo, n, before, p_action,
    teammemd_actor(p_repo, p_actor_id, p_actor_digest, p_actor), p_at, 0, p_salt, p_detail, p_digest, decode(repeat('00', 32), 'hex'))
  WHERE repo = p_repo;
END $$;
-- +goose StatementEnd

-- teammemd_apply commits one change on top of a version: false where the repo has
-- another by now, or another name. v_ arrays have one element for each version
-- that it makes, sorted by key; b_ arrays one for each content.
-- +goose StatementBegin
CREATE FUNCTION teammemd_apply(
  p_repo bigint, p_name text, p_base bigint, p_change uuid, p_at bigint,
  p_actor_id text, p_actor_digest bytea, p_actor text,
  p_action text, p_rules text, p_salt bytea, p_detail text, p_digest bytea, p_seals bytea,
  v_key text[], v_op text[], v_sum bytea[], v_bytes int[], v_allowed text[], v_salt bytea[], v_seal bytea[],
  b_sum bytea[], b_content bytea[], p_retired boolean, p_revived boolean, p_redact bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  n      bigint;
  before bytea;
  who    text;
BEGIN
  SELECT r.audit_number + 1, r.audit_hash INTO n, before
  FROM repos r WHERE r.repo = p_repo AND r.version = p_base AND r.name = p_name FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  who := teammemd_actor(p_repo, p_actor_id, p_actor_digest, p_actor);
  UPDATE repos SET version = p_base + 1, modified_ms = p_at, audit_number = n,
    audit_hash = teammemd_chain(p_repo, n, before, p_action, who, p_at, p_base + 1, p_salt, p_detail, p_digest, p_seals)
  WHERE repo = p_repo;

  IF cardinality(p_redact) > 0 THEN
    UPDATE versions SET key = NULL, sum = NULL, bytes = 0, allowed = '', redacted = true, salt = NULL
    WHERE repo = p_repo AND sum = ANY (p_redact);
    DELETE FROM bodies WHERE repo = p_repo AND sum = ANY (p_redact);
    INSERT INTO redactions (repo, sum, at_ms) SELECT p_repo, s, p_at FROM unnest(p_redact) s ON CONFLICT DO NOTHING;
  END IF;
  IF cardinality(b_sum) > 0 THEN
    INSERT INTO bodies (repo, sum, content)
    SELECT p_repo, b.sum, b.content FROM unnest(b_sum, b_content) AS b (sum, content) ON CONFLICT DO NOTHING;
    INSERT INTO entries (repo, key, sum, bytes, version, modified_ms, allowed)
    SELECT p_repo, v.key, v.sum, v.bytes, p_base + 1, p_at, v.allowed
    FROM unnest(v_key, v_op, v_sum, v_bytes, v_allowed) AS v (key, op, sum, bytes, allowed) WHERE v.op = 'put'
    ON CONFLICT (repo, key) DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes, version = excluded.version,
      modified_ms = excluded.modified_ms, allowed = excluded.allowed;
  END IF;
  IF p_revived THEN
    DELETE FROM tombs WHERE repo = p_repo AND key IN (SELECT v.key FROM unnest(v_key, v_op) AS v (key, op) WHERE v.op = 'put');
  END IF;
  IF p_retired THEN
    DELETE FROM entries WHERE repo = p_repo AND key IN (SELECT v.key FROM unnest(v_key, v_op) AS v (key, op) WHERE v.op = 'retire');
    INSERT INTO tombs (repo, key, version)
    SELECT p_repo, v.key, p_base + 1 FROM unnest(v_key, v_op) AS v (key, op) WHERE v.op = 'retire'
    ON CONFLICT (repo, key) DO UPDATE SET version = excluded.version;
  END IF;
  IF cardinality(v_key) > 0 THEN
    INSERT INTO versions (repo, version, ordinal, key, op, sum, bytes, at_ms, actor, rules, allowed, salt, seal)
    SELECT p_repo, p_base + 1, v.ordinal, v.key, v.op, v.sum, v.bytes, p_at, who, p_rules, v.allowed, v.salt, v.seal
    FROM unnest(v_key, v_op, v_sum, v_bytes, v_allowed, v_salt, v_seal) WITH ORDINALITY
      AS v (key, op, sum, bytes, allowed, salt, seal, ordinal);
  END IF;
  INSERT INTO outbox (repo, change, name, version) VALUES (p_repo, p_change, p_name, p_base + 1);
  RETURN true;
END $$;
-- +goose StatementEnd
