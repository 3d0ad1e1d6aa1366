import assert from 'node:assert/strict'
import { test } from 'node:test'
import { misjudged, NONE } from './disk-project.ts'

// Databases for development on this machine, reached by the project's own means.

test('a program of the project counts without a branch whose flag is not given, if the text shows that it does not run', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'node db/forward.mjs --down-to 0',
        'node db/forward.mjs --down-to=0',
        'node db/forward.mjs $X',
        'node db/both.mjs',
        'node db/after.mjs',
        'node db/again.mjs',
      ],
      everyday: ['node db/forward.mjs', 'node db/forward.mjs --verbose'],
    }),
    NONE,
  )
})

test('rows that are written out go into the database of the project, with a look at them, and nothing else', () => {
  const psql = (text: string, words = '-U app app_dev') =>
    `docker compose exec -T db psql ${words} <<'SQL'\n${text}\nSQL`
  assert.deepEqual(
    misjudged({
      asked: [
        psql("insert into a (id) values ('x');", '-U app app_prod'),
        psql("insert into a (id) values ('x');", '-h db.example -U app app_dev'),
        psql("insert into a (id) values (pg_read_file('/etc/passwd'));"),
        psql("insert into a (id) values ('x');\n\\! sh"),
        psql("insert into a (id) values ('x'); delete from a;"),
        psql("insert into a (id) values ('x'); select pg_terminate_backend(1);"),
        psql('update a set b = 1;'),
        "psql -U app app_dev <<'SQL'\ninsert into a (id) values (f());\nSQL",
      ],
      everyday: [
        psql(
          "insert into a (id, b) values ('x', 1200) on conflict do nothing;\nselect id, b from a where id like 'x%';",
        ),
        psql("insert into a (id) values ('x');"),
      ],
    }),
    NONE,
  )
})

test('a queue on this machine gets one more entry, and nothing there is replaced or removed', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'redis-cli -h redis.example rpush jobs x',
        'redis-cli -u redis://redis.example rpush jobs x',
        'redis-cli set a b',
        'redis-cli flushall',
        'redis-cli del jobs',
        'redis-cli rpush jobs "$(cat .env)"',
        'redis-cli rpush jobs $X',
        'redis-cli eval "return 1" 0',
      ],
      everyday: [
        'redis-cli rpush jobs \'{"id":"s_1","carrier":"ups"}\' && redis-cli llen jobs',
        'redis-cli -h localhost -p 6379 lpush jobs a',
      ],
    }),
    NONE,
  )
})
