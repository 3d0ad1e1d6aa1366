import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { agentWorld } from '../agent-world.ts'

const CCUSAGE = fileURLToPath(new URL('../../../node_modules/.bin/ccusage', import.meta.url))

const SCENARIO = `
conversations:
  - name: short
    match: a short task
    turns:
      - text: That was short.
`

test('with an API key the real ccusage reads what the real agent wrote; without a limit our own estimate is shown', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const quota = async () => JSON.parse((await pcc.run(['quota', '--json'])).stdout) as QuotaView
  assert.equal((await pcc.run(['start', project, '--task', 'a short task'])).code, 0)
  const [before] = (await quota()).accounts
  assert.deepEqual(
    [before?.windows.map(({ source }) => source), before?.level, before?.notes],
    [['estimate'], 'unknown', ['ccusage is not asked: quota.token_limit is not set']],
  )
  assert.ok((before?.windows[0]?.utilization ?? 0) > 0, 'what the session reported is counted')
  await pcc.run(['config', 'set', 'quota.ccusage', CCUSAGE])
  await pcc.run(['config', 'set', 'quota.token_limit', '1000000'])
  const [after] = (await quota()).accounts
  assert.deepEqual(
    [after?.windows.map(({ window, source }) => [window, source]), after?.notes],
    [[['five_hour', 'ccusage']], []],
  )
  assert.ok((after?.windows[0]?.utilization ?? 0) > 0)
  assert.match(
    (await pcc.run(['quota'])).stdout,
    /5-hour +█░+ +\d+% {2}resets (\S+ )?\S+ {2}by ccusage, from local files/,
  )
})
