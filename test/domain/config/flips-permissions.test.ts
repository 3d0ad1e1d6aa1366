import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { EventOf, StoredEvent } from '../../../src/domain/event.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { pccFor } from '../../cli/pcc.ts'
import { agentEnv, gitProject } from '../../support/world.ts'

interface Alone {
  /** Tool calls, one a turn, as YAML. */
  calls: string[]
  setting?: Record<string, string>
  flags?: string[]
}

/** One daemon for all of them: every session has settings of its own. */
const pcc = pccFor({ after: end => after(() => (end as () => Promise<void>)()) })

/** How each call of a session without a person is decided. */
async function decidedAlone(t: TestContext, { calls, setting = {}, flags = [] }: Alone): Promise<string[]> {
  const project = gitProject(t)
  const turns = calls.map(call => `{ tools: [${call.replaceAll('PROJECT', project)}] }`)
  const scenario = `conversations: [{ name: w, match: do it, turns: [${turns.join(', ')}, { text: Finished. }] }]`
  await using simulator = await openSimulator({ text: scenario })
  const env = { ...agentEnv(pcc.home, simulator.url), ...setting }
  const { code, stdout, stderr } = await pcc.run(['start', project, '--task', 'do it', '--json', ...flags], { env })
  assert.equal(code, 0, stderr)
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as StoredEvent)
  const decided = events.filter((event): event is DecidedEvent => event.kind === 'permission.decided')
  return decided.map(({ body: { verdict, risk, by } }) => `${verdict} ${risk} ${by}`)
}

type DecidedEvent = StoredEvent & EventOf<'permission.decided'>

const WRITE = '{ Write: { file_path: PROJECT/src/a.ts, content: "export {}" } }'
const DOCUMENT = '{ Write: { file_path: PROJECT/docs/a.md, content: "a" } }'
const MAKE = '{ Bash: { command: mkdir made, description: Make } }'

test('without settings of its own a session is allowed what is LOW by the policy, and what is MEDIUM by the brain', async t => {
  assert.deepEqual(await decidedAlone(t, { calls: [WRITE, DOCUMENT, MAKE] }), [
    'allow LOW policy',
    'allow MEDIUM brain',
    'allow MEDIUM brain',
  ])
})

test('permissions.auto_approve_low_risk, or the flag in its place, lets a LOW request happen without a person', async t => {
  const setting = { PCC_PERMISSIONS_AUTO_APPROVE_LOW_RISK: 'false' }
  const calls = [WRITE]
  assert.deepEqual(await decidedAlone(t, { calls, setting }), ['deny LOW nobody'])
  assert.deepEqual(await decidedAlone(t, { calls, setting, flags: ['--auto-approve'] }), ['allow LOW policy'])
  assert.deepEqual(await decidedAlone(t, { calls, flags: ['--no-auto-approve'] }), ['deny LOW nobody'])
})

test('permissions.safe_directories are where a write is LOW, and permissions.blocked_commands are refused however harmless they are', async t => {
  const setting = { PCC_PERMISSIONS_SAFE_DIRECTORIES: 'docs/', PCC_PERMISSIONS_BLOCKED_COMMANDS: 'mkdir' }
  assert.deepEqual(await decidedAlone(t, { calls: [DOCUMENT, MAKE], setting }), [
    'allow LOW policy',
    'deny MEDIUM rule',
  ])
})

test('brain.confidence_threshold is what an opinion must reach to count', async t => {
  const setting = { PCC_BRAIN_CONFIDENCE_THRESHOLD: '0.99' }
  assert.deepEqual(await decidedAlone(t, { calls: [MAKE], setting }), ['deny MEDIUM nobody'])
})
