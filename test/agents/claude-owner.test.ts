import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { findMarked } from '../../src/base/process/sweep.ts'
import { bareEnv } from '../support/world.ts'
import { claude } from './claude-adapter.ts'
import { until, World } from './conformance/world.ts'

const OWNER = fileURLToPath(new URL('./claude-owner.ts', import.meta.url))

for (const isolation of ['auto', 'marker'] as const) {
  test(`after kill -9 of the owner nothing of the agent is alive and no tool runs on (isolation ${isolation})`, async t => {
    const command =
      'setsid sleep 621 & (setsid sh -c "sleep 622 & sleep 623" &) ; touch begun; sleep 1.5; touch ran-on.txt'
    const world = await World.open(t, claude, [
      { prompt: 'work', steps: [{ calls: [{ run: command }] }, { say: 'Unreachable.' }] },
    ])
    const { asks: _asks, ...options } = world.options({ prompt: 'work', isolation })
    const owner = spawn(process.execPath, [OWNER, JSON.stringify(options)], {
      env: bareEnv(world.home),
      stdio: 'ignore',
    })
    const gone = once(owner, 'exit')
    await until(() => world.has('begun'))
    const marker = sessionMarker(options.marker)
    assert.ok((await findMarked(marker)).length > 3)
    owner.kill('SIGKILL')
    await gone
    const deadline = Date.now() + 60_000
    while ((await findMarked(marker)).length > 0 && Date.now() < deadline) await sleep(50)
    assert.deepEqual(await findMarked(marker), [])
    assert.equal(world.has('ran-on.txt'), false)
  })
}
