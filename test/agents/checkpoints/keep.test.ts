import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { list, read } from '../../../src/agents/checkpoints/read.ts'
import { checkpointId, prune, save } from '../../../src/agents/checkpoints/save.ts'
import { bareEnv, COMPILED, tempDir } from '../../support/world.ts'
import { NOON, sampleCheckpoint } from './sample.ts'

const ID = '2026-01-13T12-00-01.123Z'
const DAY_MS = 24 * 60 * 60_000
const SAVER = fileURLToPath(new URL('./saver.ts', import.meta.url))

test('a checkpoint comes back as it was saved, from a file named after its time that only its owner reads', async t => {
  const dir = join(tempDir(t), 'checkpoints')
  const checkpoint = sampleCheckpoint()
  assert.equal(await save(dir, checkpoint), ID)
  const file = join(dir, 's-abc123', `${ID}.json`)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(statSync(join(dir, 's-abc123')).mode & 0o777, 0o700)
  assert.deepEqual(await read(dir, 's-abc123'), { good: { id: ID, checkpoint }, bad: [] })
  assert.deepEqual(readdirSync(join(dir, 's-abc123')), [`${ID}.json`])
})

test('many in one millisecond all stay, in the order they were saved', async t => {
  const dir = tempDir(t)
  const ids: string[] = []
  for (let nth = 1; nth <= 12; nth++) ids.push(await save(dir, sampleCheckpoint({ next_action: String(nth) })))
  const at = await Promise.all([1, 2, 3].map(() => save(dir, sampleCheckpoint())))
  assert.equal(new Set([...ids, ...at]).size, 15)
  const entries = await list(dir, 's-abc123')
  assert.deepEqual(
    entries.slice(3).map(entry => 'checkpoint' in entry && entry.checkpoint.next_action),
    ['12', '11', '10', '9', '8', '7', '6', '5', '4', '3', '2', '1'],
  )
})

test('secrets are not written, while the names of files stay whole', async t => {
  const dir = tempDir(t)
  const files = ['sk-learn-helpers.py', 'notes of hunter2hunter2.txt'].map(path => ({ path, hash: null, bytes: 0 }))
  const id = await save(
    dir,
    sampleCheckpoint({
      original_task: 'Use the key sk-ant-REDACTED and the password hunter2hunter2',
      conversation_summary: 'DB_PASSWORD=verysecret was set',
      key_decisions: [{ question: 'q', answer: 'Bearer abcdefghijklmnop', rationale: 'hunter2hunter2', by: 'human' }],
      modified_files: files,
    }),
    { hidden: ['hunter2hunter2'] },
  )
  const text = readFileSync(join(dir, 's-abc123', `${id}.json`), 'utf8')
  for (const secret of ['sk-ant-REDACTED', 'verysecret', 'abcdefghijklmnop', 'hunter2hunter2']) {
    assert.ok(!text.includes(secret), secret)
  }
  assert.match(text, /sk-learn-helpers\.py/)
  assert.ok((await read(dir, 's-abc123')).good)
})

test('one that is damaged or from a newer version is passed over by name, and the latest good one is used', async t => {
  const dir = tempDir(t)
  const good = await save(dir, sampleCheckpoint())
  const folder = join(dir, 's-abc123')
  const whole = readFileSync(join(folder, `${good}.json`), 'utf8')
  const put = (nth: number, text: string) => writeFileSync(join(folder, `${checkpointId(NOON + nth, 0)}.json`), text)
  put(1, whole.slice(0, whole.length / 2))
  put(2, whole.replace('"version": 1', '"version": 2'))
  put(3, '')
  put(4, '[]')
  put(5, whole.replace('"session_id": "s-abc123"', '"session_id": "s-000000"'))
  put(6, whole.replace('"reason": "limit"', '"reason": "whim"'))
  mkdirSync(join(folder, `${checkpointId(NOON + 7, 0)}.json`))
  const found = await read(dir, 's-abc123')
  assert.equal(found.good?.id, good)
  assert.deepEqual(
    found.bad.map(({ id, problem }) => [id, problem]),
    [
      [checkpointId(NOON + 7, 0), 'it cannot be read (EISDIR)'],
      [checkpointId(NOON + 6, 0), 'it is damaged (reason)'],
      [checkpointId(NOON + 5, 0), 'it belongs to another session (s-000000)'],
      [checkpointId(NOON + 4, 0), 'it is damaged (not a checkpoint)'],
      [checkpointId(NOON + 3, 0), 'it is damaged (not whole JSON)'],
      [checkpointId(NOON + 2, 0), 'a newer pcc wrote it (version 2; this one knows 1)'],
      [checkpointId(NOON + 1, 0), 'it is damaged (not whole JSON)'],
    ],
  )
  const named = await read(dir, 's-abc123', checkpointId(NOON + 2, 0))
  assert.equal(named.good, undefined)
  assert.match(named.bad[0]?.problem ?? '', /newer pcc/)
  assert.equal((await list(dir, 's-abc123')).length, 8)
})

test('a beginning that fits one names it; an id that leads elsewhere names nothing', async t => {
  const dir = tempDir(t)
  await save(dir, sampleCheckpoint())
  await save(dir, sampleCheckpoint({ timestamp: NOON + DAY_MS }))
  assert.equal((await read(dir, 's-abc123', '2026-01-14')).good?.checkpoint.timestamp, NOON + DAY_MS)
  writeFileSync(join(dir, 'elsewhere.json'), readFileSync(join(dir, 's-abc123', `${ID}.json`)))
  for (const id of ['2026-01', '', '../elsewhere', '../../etc/passwd', `${ID}.json`]) {
    assert.deepEqual(await read(dir, 's-abc123', id), { good: undefined, bad: [] }, id)
  }
  for (const session of ['', '..', '../s-abc123', 's-nobody']) {
    assert.deepEqual(await list(dir, session), [], session)
  }
})

test('old ones go, but not the last of a session that is not over, and broken saves are swept', async t => {
  const dir = tempDir(t)
  const now = NOON + 40 * DAY_MS
  for (const session_id of ['s-live', 's-over', 's-fresh']) {
    await save(dir, sampleCheckpoint({ session_id }))
    await save(dir, sampleCheckpoint({ session_id, timestamp: NOON + DAY_MS }))
  }
  await save(dir, sampleCheckpoint({ session_id: 's-fresh', timestamp: now - DAY_MS }))
  const [stale, writing] = ['.left.tmp', '.now.tmp'].map(name => join(dir, 's-fresh', name))
  for (const file of [stale, writing]) writeFileSync(file ?? '', 'half')
  utimesSync(stale ?? '', now / 1000 - 7_200, now / 1000 - 7_200)
  utimesSync(writing ?? '', now / 1000, now / 1000)
  const removed = await prune(dir, { days: 30, now, keepLast: id => id === 's-live' })
  assert.equal(removed, 5)
  assert.deepEqual(readdirSync(dir).sort(), ['s-fresh', 's-live'])
  assert.deepEqual(readdirSync(join(dir, 's-live')), [`${checkpointId(NOON + DAY_MS, 0)}.json`])
  assert.deepEqual(readdirSync(join(dir, 's-fresh')).sort(), ['.now.tmp', `${checkpointId(now - DAY_MS, 0)}.json`])
  assert.equal(await prune(join(dir, 'nothing'), { days: 30, now, keepLast: () => false }), 0)
})

test('a kill at any moment of saving leaves whole checkpoints only', async t => {
  const dir = tempDir(t)
  let seen = 0
  for (let round = 0; round < 8; round++) {
    const child = spawn(process.execPath, [SAVER, dir], {
      env: { ...bareEnv(dir), ...COMPILED },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    // Each line reports one more saved checkpoint; the kill interrupts a later one.
    let lines = ''
    for await (const chunk of child.stdout) {
      lines += chunk
      if (lines.split('\n').length > 3 + round * 5) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    const said = lines.split('\n').slice(0, -1)
    const entries = await list(dir, 's-abc123')
    assert.deepEqual(
      entries.filter(entry => 'problem' in entry),
      [],
    )
    const kept = new Set(entries.map(({ id }) => id))
    for (const id of said) assert.ok(kept.has(id), `${id} was said to be saved`)
    seen += said.length
  }
  assert.ok(seen > 20)
})

test('a save that fails throws, leaves nothing behind and costs no earlier one', async t => {
  const dir = tempDir(t)
  const id = await save(dir, sampleCheckpoint())
  // The child process may write 64 blocks per file: the system refuses more, as on a full disk.
  const full = spawnSync(
    '/bin/sh',
    ['-c', `trap '' XFSZ; ulimit -f 64; exec "$0" "$1" "$2" large`, process.execPath, SAVER, dir],
    {
      env: { ...bareEnv(dir), ...COMPILED },
      encoding: 'utf8',
    },
  )
  assert.match(full.stdout, /^(EFBIG|ENOSPC)\n$/)
  assert.deepEqual(readdirSync(join(dir, 's-abc123')), [`${id}.json`])
})

test('a file where the folder of a session should be is left alone, and pruning follows no link', async t => {
  const dir = tempDir(t)
  writeFileSync(join(dir, 's-abc123'), 'a file')
  await assert.rejects(save(dir, sampleCheckpoint()))
  assert.equal(readFileSync(join(dir, 's-abc123'), 'utf8'), 'a file')
  const elsewhere = tempDir(t)
  await save(elsewhere, sampleCheckpoint())
  symlinkSync(join(elsewhere, 's-abc123'), join(dir, 's-linked'))
  assert.equal(await prune(dir, { days: 1, now: NOON + 40 * DAY_MS, keepLast: () => false }), 0)
  assert.deepEqual(readdirSync(join(elsewhere, 's-abc123')), [`${ID}.json`])
})
