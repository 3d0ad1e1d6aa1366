import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, rmSync } from 'node:fs'
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
