import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { save } from '../../../src/agents/checkpoints/save.ts'
import { openStore } from '../../../src/store/open.ts'
import { launch } from '../../daemon/daemon-process.ts'
import { tempDir } from '../../support/world.ts'
import { sampleCheckpoint } from './sample.ts'

const DAY_MS = 24 * 60 * 60_000

/** The checkpoints of a completed and of a paused session that are left after a daemon has run. */
async function leftAfter(t: TestContext, settings: string): Promise<string[]> {
  const home = tempDir(t)
  const data = join(home, 'pcc', 'data')
  mkdirSync(data, { recursive: true })
  writeFileSync(join(home, 'pcc', 'config.toml'), settings)
  const files: [string, string][] = []
  await using store = await openStore({ file: join(data, 'perpetualcc.db') })
  for (const ended_as of ['completed', 'paused'] as const) {
    const id = `s-${ended_as}`
    await store.sessions.insert({ id, name: id, project: home, task: 'x', agent: 'claude', state: 'ended', ended_as })
    for (const days of [40, 35, 10]) {
      if (ended_as === 'paused' && days === 10) continue
      const checkpoint = sampleCheckpoint({ session_id: id, timestamp: Date.now() - days * DAY_MS })
      const saved = await save(join(data, 'checkpoints'), checkpoint)
      files.push([`${ended_as} ${days}`, join(data, 'checkpoints', id, `${saved}.json`)])
    }
  }
  await store.close()
  const { child, ended } = await launch(t, { home })
  child.kill('SIGTERM')
  assert.equal(await ended, 0)
  return files.filter(([, file]) => existsSync(file)).map(([name]) => name)
}

test('data.checkpoint_retention_days is how long one stays, save the last of a session that can still go on', async t => {
  assert.deepEqual(await leftAfter(t, ''), ['completed 10', 'paused 35'])
  assert.deepEqual(await leftAfter(t, 'data.checkpoint_retention_days = 38\n'), [
    'completed 35',
    'completed 10',
    'paused 35',
  ])
  assert.deepEqual(await leftAfter(t, 'data.checkpoint_retention_days = 1\n'), ['paused 35'])
})
