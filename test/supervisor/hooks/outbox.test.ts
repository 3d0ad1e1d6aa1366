import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import { replayOutbox } from '../../../src/daemon/replay-outbox.ts'
import type { CapturedRow } from '../../../src/domain/hook-capture.ts'
import { openStore } from '../../../src/store/open.ts'
import { HookOutbox } from '../../../src/supervisor/hooks/outbox.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

const row = (id: string): CapturedRow => ({
  at: 1_000,
  subject: 'o-12345678',
  body: {
    ...{ id, vendor: 'claude', session: 'c-1', project: '/p' },
    ...{ type: 'tool_use_start', tool_name: 'Bash', parameters: '{}' },
  },
  about: { pid: null, start_time: null, model: null },
})

test('a clock that was set back or forward loses no event', async t => {
  const paths = appPathsFor({ env: bareEnv(tempDir(t)) })
  await using store = await openStore({ file: paths.database, onFailure: error => assert.fail(String(error)) })
  const daemon = { paths, store, log: silentLog, stopping: new AbortController().signal }
  const outbox = new HookOutbox(paths)
  const real = Date.now()
  let count = 0
  for (const now of [real, real - 86_400_000, real + 86_400_000, 1]) {
    t.mock.timers.enable({ apis: ['Date'], now })
    outbox.add([row(`at-${now}`)])
    await replayOutbox(daemon)
    t.mock.timers.reset()
    assert.deepEqual(
      (await store.observed.list()).map(session => session.calls),
      [++count],
    )
  }
})

test('what hooks wrote without a daemon is stored once: half a line is left out, and a replay after a crash adds nothing', async t => {
  const paths = appPathsFor({ env: bareEnv(tempDir(t)) })
  await using store = await openStore({ file: paths.database, onFailure: error => assert.fail(String(error)) })
  const daemon = { paths, store, log: silentLog, stopping: new AbortController().signal }
  const folder = join(paths.data, 'hook-outbox')
  const outbox = new HookOutbox(paths)

  outbox.add([row('event-0001')])
  appendFileSync(join(folder, 'current.jsonl'), '\n{"at":1,"subj') // a hook was killed in the middle
  outbox.add([row('event-0002'), row('event-0001')])
  await replayOutbox(daemon)
  const calls = async () => (await store.observed.list()).map(session => session.calls)
  assert.deepEqual(await calls(), [2])

  // The daemon was killed after it stored the rows and before it noted how far it was.
  for (const name of readdirSync(folder).filter(each => each.endsWith('.at'))) rmSync(join(folder, name))
  await Promise.all([replayOutbox(daemon), replayOutbox(daemon)])
  assert.deepEqual(await calls(), [2])

  outbox.add([row('event-0003')])
  appendFileSync(join(folder, 'current.jsonl'), '\n{"at":1')
  await replayOutbox(daemon)
  assert.deepEqual(await calls(), [3])
  assert.ok(
    readdirSync(folder).some(name => name.startsWith('aside-')),
    'a hook may still write the end of a line',
  )
})

test('an agent that writes into the outbox itself can neither speak for other sessions, nor move times and sums, nor stop the replay', async t => {
  const paths = appPathsFor({ env: bareEnv(tempDir(t)) })
  await using store = await openStore({ file: paths.database, onFailure: error => assert.fail(String(error)) })
  const daemon = { paths, store, log: silentLog, stopping: new AbortController().signal }
  const folder = join(paths.data, 'hook-outbox')
  const file = join(folder, 'aside-forged-1.jsonl')
  mkdirSync(folder, { recursive: true })
  const forged = { ...row('forged-1'), at: 9e15, subject: 's-abcdef' }
  const usage = { ...row('forged-2').body, type: 'usage', input_tokens: -1e9, output_tokens: 0 }
  const long = { ...row('forged-3').body, session: 'x'.repeat(30_000) }
  writeFileSync(file, '')
  truncateSync(file, 3_000_000) // zeros without a line break
  const lines = [forged, { ...row('forged-2'), body: usage }, { ...row('forged-3'), body: long }, row('event-0001')]
  appendFileSync(file, lines.map(line => `\n${JSON.stringify(line)}\n`).join(''))
  writeFileSync(`${file}.at`, '-7')
  // These come first: a folder, and a pipe that nobody writes to.
  mkdirSync(join(folder, 'aside-a.jsonl/in'), { recursive: true })
  execFileSync('mkfifo', [join(folder, 'aside-b.jsonl'), join(folder, 'current.jsonl')])
  for (const name of ['aside-a.jsonl', 'aside-b.jsonl']) utimesSync(join(folder, name), 1, 1)
  const outbox = new HookOutbox(paths)
  assert.throws(() => outbox.add([row('event-0002')]), /ENXIO/)

  await replayOutbox(daemon)
  const sessions = await store.observed.list()
  assert.deepEqual(
    sessions.map(({ id, calls, input_tokens }) => [id.slice(0, 2), calls, input_tokens]),
    [['o-', 2, 0]],
  )
  assert.ok((sessions[0]?.last_at ?? 0) <= Date.now())
  assert.equal(outbox.add([row('event-0003')]), true, 'the pipe was put aside')
  await replayOutbox(daemon)
  assert.deepEqual(
    (await store.observed.list()).map(({ calls }) => calls),
    [3],
  )
})
