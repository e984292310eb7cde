-- +goose Up

-- The planner's statistics have samples of values, which stay when their rows go.
ALTER TABLE bodies ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE actors ALTER COLUMN actor SET STATISTICS 0;
ALTER TABLE audit ALTER COLUMN detail SET STATISTICS 0;
ALTER TABLE scan_policy ALTER COLUMN reason SET STATISTICS 0;
ALTER TABLE rescans ALTER COLUMN marks SET STATISTICS 0;

-- teammemd_apply in one function: calls of teammemd_actor and teammemd_chain took a
-- tenth of its time. Where contents may be encrypted, the one that takes the number
-- of the data key is replaced, and what it checks stays in it; the other then only
-- calls it.
-- +goose StatementBegin
DO $migration$
DECLARE
  params text := $params$
  p_repo bigint, p_name text, p_base bigint, p_change uuid, p_at bigint,
  p_actor_id text, p_actor_digest bytea, p_actor text,
  p_action text, p_rules text, p_salt bytea, p_detail text, p_digest bytea, p_seals bytea,
  v_key text[], v_op text[], v_sum bytea[], v_bytes int[], v_allowed text[], v_salt bytea[], v_seal bytea[],
  b_sum bytea[], b_content bytea[], p_retired boolean, p_revived boolean, p_redact bytea[]$params$;
  body   text := $body$
DECLARE
  n   bigint;
  h   bytea;
  who text;
BEGIN
  SELECT r.audit_number + 1, r.audit_hash INTO n, h
  FROM repos r WHERE r.repo = p_repo AND r.version = p_base AND r.name = p_name FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  /* current key */
  SELECT a.id INTO who FROM actors a WHERE a.repo = p_repo AND a.digest = p_actor_digest;
  IF who IS NULL THEN
    INSERT INTO actors (repo, id, digest, actor) VALUES (p_repo, p_actor_id, p_actor_digest, p_actor);
    who := p_actor_id;
  END IF;
  h := sha256(h || int8send(n) || int8send(p_at) || int8send(p_base + 1)
    || int4send(octet_length(p_action)) || convert_to(p_action, 'UTF8')
    || int4send(octet_length(who)) || convert_to(who, 'UTF8') || p_digest || p_seals);
  UPDATE repos SET version = p_base + 1, modified_ms = p_at, audit_number = n, audit_hash = h WHERE repo = p_repo;
  INSERT INTO audit (repo, number, action, actor, at_ms, version, salt, detail, digest, seals, hash)
  VALUES (p_repo, n, p_action, who, p_at, p_base + 1, p_salt, p_detail, p_digest, p_seals, h);

  IF cardinality(p_redact) > 0 THEN
    UPDATE versions SET key = NULL, sum = NULL, bytes = 0, allowed = '', redacted = true, salt = NULL
    WHERE repo = p_repo AND sum = ANY (p_redact);
    DELETE FROM bodies WHERE repo = p_repo AND sum = ANY (p_redact);
    INSERT INTO redactions (repo, sum, at_ms) SELECT p_repo, s, p_at FROM unnest(p_redact) s ON CONFLICT DO NOTHING;
  END IF;
  IF cardinality(b_sum) > 0 THEN
    INSERT INTO bodies (repo, sum, content /* key column */)
    SELECT p_repo, b.sum, b.content /* key value */ FROM unnest(b_sum, b_content) AS b (sum, content) ON CONFLICT DO NOTHING;
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
END $body$;
BEGIN
  IF to_regclass('data_keys') IS NOT NULL THEN
    params := params || ', p_key bigint';
    body := replace(body, '/* key column */', ', data_key');
    body := replace(body, '/* key value */', ', p_key');
    body := replace(body, '/* current key */',
      'IF p_key <> coalesce((SELECT max(k.number) FROM data_keys k WHERE k.repo = p_repo), 0) THEN RETURN false; END IF;');
  END IF;
  EXECUTE format('CREATE OR REPLACE FUNCTION teammemd_apply(%s) RETURNS boolean LANGUAGE plpgsql AS %L', params, body);
END $migration$;
-- +goose StatementEnd
