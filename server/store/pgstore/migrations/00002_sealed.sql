-- Contents may be encrypted. data_key is the number of the repo's data key with
-- which content is sealed, 0 for one that is plain.

-- +goose Up
ALTER TABLE bodies ADD COLUMN data_key bigint NOT NULL DEFAULT 0;

-- Data keys, wrapped under the master key of this name. The one of the highest
-- number seals, from the repo's version since on. generation is that of the
-- rotation in which it was made.
CREATE TABLE data_keys (
  repo       bigint NOT NULL,
  number     bigint NOT NULL,
  since      bigint NOT NULL,
  generation bigint NOT NULL,
  master     text COLLATE "C" NOT NULL,
  wrapped    bytea NOT NULL,
  PRIMARY KEY (repo, number)
);

-- One row: the generation of data keys that is wanted, and whether not all
-- contents have come to it yet.
CREATE TABLE data_rotation (
  id         int PRIMARY KEY CHECK (id = 1),
  generation bigint NOT NULL,
  under_way  boolean NOT NULL
);
INSERT INTO data_rotation VALUES (1, 0, false);

-- A database that was distributed before gets its new tables distributed as well.
-- +goose StatementBegin
DO $$
BEGIN
  IF to_regclass('pg_dist_partition') IS NULL THEN
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'repos'::regclass) THEN
    PERFORM create_reference_table('data_rotation');
    PERFORM create_distributed_table('data_keys', 'repo', colocate_with => 'repos');
  END IF;
END $$;
-- +goose StatementEnd

-- teammemd_apply of the first release, with the number of the data key that the
-- contents are sealed with, 0 for none. It also answers false where that is not the
-- repo's newest by now: nothing is ever written under a key that is on its way out,
-- nor plain into a repo that has a key.
-- +goose StatementBegin
CREATE FUNCTION teammemd_apply(
  p_repo bigint, p_name text, p_base bigint, p_change uuid, p_at bigint,
  p_actor_id text, p_actor_digest bytea, p_actor text,
  p_action text, p_rules text, p_salt bytea, p_detail text, p_digest bytea, p_seals bytea,
  v_key text[], v_op text[], v_sum bytea[], v_bytes int[], v_allowed text[], v_salt bytea[], v_seal bytea[],
  b_sum bytea[], b_content bytea[], p_retired boolean, p_revived boolean, p_redact bytea[], p_key bigint
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
  IF p_key <> coalesce((SELECT max(k.number) FROM data_keys k WHERE k.repo = p_repo), 0) THEN
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
    INSERT INTO bodies (repo, sum, content, data_key)
    SELECT p_repo, b.sum, b.content, p_key FROM unnest(b_sum, b_content) AS b (sum, content) ON CONFLICT DO NOTHING;
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

-- What servers of the release before call, while they are replaced.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION teammemd_apply(
  p_repo bigint, p_name text, p_base bigint, p_change uuid, p_at bigint,
  p_actor_id text, p_actor_digest bytea, p_actor text,
  p_action text, p_rules text, p_salt bytea, p_detail text, p_digest bytea, p_seals bytea,
  v_key text[], v_op text[], v_sum bytea[], v_bytes int[], v_allowed text[], v_salt bytea[], v_seal bytea[],
  b_sum bytea[], b_content bytea[], p_retired boolean, p_revived boolean, p_redact bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN teammemd_apply(p_repo, p_name, p_base, p_change, p_at, p_actor_id, p_actor_digest, p_actor,
    p_action, p_rules, p_salt, p_detail, p_digest, p_seals, v_key, v_op, v_sum, v_bytes, v_allowed, v_salt, v_seal,
    b_sum, b_content, p_retired, p_revived, p_redact, 0);
END $$;
-- +goose StatementEnd
