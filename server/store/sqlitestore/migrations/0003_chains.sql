-- A repo's number stands in for its name everywhere from here on. 0 is the
-- server itself. A row of version 0 is a repo that was never written. chain is
-- the number of the last row of its chain of audit rows; identity is the forge's.
ALTER TABLE repos ADD COLUMN identity TEXT;
ALTER TABLE repos ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX repos_by_identity ON repos (identity) WHERE identity IS NOT NULL;
INSERT INTO repos (id, name, version, modified_ms) VALUES (0, '', 0, 0);
INSERT INTO repos (name, version, modified_ms)
  SELECT repo, 0, 0 FROM (SELECT repo FROM scan_policy UNION SELECT repo FROM rescans) WHERE true
  ON CONFLICT DO NOTHING;

-- Names that were given up, and whose data they stand for.
CREATE TABLE former_names (
  name TEXT PRIMARY KEY,
  repo INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX former_names_by_repo ON former_names (repo);

-- Who acted: id is the pseudonym, which is random. An erased actor has only that.
-- Other tables name them by number.
CREATE TABLE actors (
  repo    INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  id      BLOB NOT NULL,
  token   TEXT NOT NULL,
  account TEXT NOT NULL,
  person  TEXT NOT NULL,
  device  TEXT NOT NULL,
  agent   TEXT NOT NULL,
  session TEXT NOT NULL,
  erased  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (repo, number)
) WITHOUT ROWID, STRICT;
CREATE UNIQUE INDEX actors_by_names ON actors (repo, person, token, account, device, agent, session) WHERE erased = 0;

INSERT INTO actors (repo, number, id, token, account, person, device, agent, session)
  SELECT repo, row_number() OVER (PARTITION BY repo), randomblob(16), token, '', person, device, agent, session
  FROM (SELECT DISTINCT repo, token, person, device, agent, session FROM versions);

-- The chains: append only. digest is NULL where there never was a detail, salt
-- where there is none (any more). The seals are those of the versions.
CREATE TABLE audit (
  repo    INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  action  TEXT NOT NULL,
  actor   INTEGER NOT NULL,
  at_ms   INTEGER NOT NULL,
  version INTEGER NOT NULL,
  salt    BLOB,
  detail  TEXT NOT NULL,
  digest  BLOB,
  hash    BLOB NOT NULL,
  PRIMARY KEY (repo, number)
) WITHOUT ROWID, STRICT;

-- History: append only, but for redaction and pruning. ordinal counts the keys of
-- one change in their order. before is the version in which the key was changed
-- before, 0 for none: entries and tombs are where these threads begin. sum is NULL
-- for a retirement; key, sum and salt are NULL for a redacted version, which has a
-- seal instead and is in no thread.
CREATE TABLE history (
  repo     INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  ordinal  INTEGER NOT NULL,
  key      TEXT,
  before   INTEGER NOT NULL,
  op       TEXT NOT NULL,
  sum      BLOB,
  bytes    INTEGER NOT NULL,
  at_ms    INTEGER NOT NULL,
  actor    INTEGER NOT NULL,
  rules    TEXT NOT NULL,
  allowed  TEXT NOT NULL,
  salt     BLOB,
  seal     BLOB,
  redacted INTEGER NOT NULL DEFAULT 0,
  pruned   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (repo, version, ordinal)
) WITHOUT ROWID, STRICT;

-- The chains of what is there already are made after this script.
INSERT INTO history (repo, version, ordinal, key, before, op, sum, bytes, at_ms, actor, rules, allowed, salt)
  SELECT v.repo, v.version, row_number() OVER (PARTITION BY v.repo, v.version ORDER BY v.key),
    v.key, coalesce(lag(v.version) OVER (PARTITION BY v.repo, v.key ORDER BY v.version), 0), v.op, v.sum, v.bytes, v.at_ms, a.number, v.rules, v.allowed, randomblob(16)
  FROM versions v JOIN actors a USING (repo, person, token, device, agent, session)
  WHERE a.account = '' AND a.erased = 0;
DROP TABLE versions;
ALTER TABLE history RENAME TO versions;

-- Policies name repos by number and actors by pseudonym.
INSERT INTO actors (repo, number, id, token, account, person, device, agent, session)
  SELECT repo, row_number() OVER (PARTITION BY repo) + (SELECT coalesce(max(number), 0) FROM actors a WHERE a.repo = p.repo),
    randomblob(16), token, account, person, device, agent, session FROM (
    SELECT DISTINCT r.id AS repo, coalesce(who ->> 'token', '') AS token, coalesce(who ->> 'user', '') AS account,
      coalesce(who ->> 'person', '') AS person, coalesce(who ->> 'device', '') AS device,
      coalesce(who ->> 'agent', '') AS agent, coalesce(who ->> 'session', '') AS session
    FROM (SELECT repo, actor AS who FROM scan_policy UNION SELECT repo, ended_by FROM scan_policy WHERE ended_ms <> 0) p
    JOIN repos r ON r.name = p.repo
  ) p WHERE true
  ON CONFLICT DO NOTHING;

CREATE TABLE policy (
  number     INTEGER PRIMARY KEY,
  repo       INTEGER NOT NULL,
  id         TEXT NOT NULL,
  rule       TEXT NOT NULL,
  keys       TEXT NOT NULL,
  reason     TEXT NOT NULL,
  actor      INTEGER NOT NULL,
  at_ms      INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ended_ms   INTEGER NOT NULL DEFAULT 0,
  ended_by   INTEGER,
  UNIQUE (repo, id)
) STRICT;
INSERT INTO policy
  SELECT p.number, r.id, p.id, p.rule, p.keys, p.reason,
    (SELECT number FROM actors a WHERE a.repo = r.id AND a.erased = 0
      AND a.token = coalesce(p.actor ->> 'token', '') AND a.account = coalesce(p.actor ->> 'user', '')
      AND a.person = coalesce(p.actor ->> 'person', '') AND a.device = coalesce(p.actor ->> 'device', '')
      AND a.agent = coalesce(p.actor ->> 'agent', '') AND a.session = coalesce(p.actor ->> 'session', '')),
    p.at_ms, p.expires_ms, p.ended_ms,
    iif(p.ended_ms = 0, NULL, (SELECT number FROM actors a WHERE a.repo = r.id AND a.erased = 0
      AND a.token = coalesce(p.ended_by ->> 'token', '') AND a.account = coalesce(p.ended_by ->> 'user', '')
      AND a.person = coalesce(p.ended_by ->> 'person', '') AND a.device = coalesce(p.ended_by ->> 'device', '')
      AND a.agent = coalesce(p.ended_by ->> 'agent', '') AND a.session = coalesce(p.ended_by ->> 'session', '')))
  FROM scan_policy p JOIN repos r ON r.name = p.repo;
DROP TABLE scan_policy;
ALTER TABLE policy RENAME TO scan_policy;

CREATE TABLE marks (
  repo  INTEGER PRIMARY KEY,
  rules TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  marks TEXT NOT NULL
) STRICT;
INSERT INTO marks SELECT r.id, s.rules, s.at_ms, s.marks FROM rescans s JOIN repos r ON r.name = s.repo;
DROP TABLE rescans;
ALTER TABLE marks RENAME TO rescans;
