import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { Pcc } from '../../cli/pcc.ts'
import { agentWorld } from '../agent-world.ts'

const SCENARIO = `
conversations:
  - name: short
    match: a short task
    turns:
      - text: That was short.
`

const PATIENCE_MS = 90_000

test('while everything is held no session calls the model; released, it goes on by itself', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  await pcc.run(['quota', 'hold'])
  const held = await pcc.run(['start', project, '--task', 'a short task', '--session-name', 'one'])
  assert.equal(held.code, 4, held.stdout)
  assert.match(held.stdout, /held by human; let it go with: pcc quota release/)
  assert.doesNotMatch(held.stdout, /Resuming in/)
  assert.equal(simulator.requests.length, 0)
  assert.equal((await pcc.run(['quota', 'release'])).code, 0)
  assert.equal(await endOf(pcc, 'one'), 'completed')
  assert.ok(simulator.requests.length > 0)
})

/** What became of a session that goes on in the background. */
async function endOf(pcc: Pcc, ref: string): Promise<string> {
  for (const deadline = Date.now() + PATIENCE_MS; ; ) {
    await pcc.run(['attach', ref]) // returns when it ends, or at once while it has not begun again
    const { status } = JSON.parse((await pcc.run(['status', ref, '--json'])).stdout) as SessionView
    if (status !== 'rate_limited' || Date.now() > deadline) return status
  }
}
