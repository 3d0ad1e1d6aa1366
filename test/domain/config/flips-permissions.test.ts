import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EventOf, StoredEvent } from '../../../src/domain/event.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { type Pcc, pccFor } from '../../cli/pcc.ts'
import { agentEnv, gitProject } from '../../support/world.ts'

interface Alone {
  /** One tool call, as YAML. */
  call: string
  setting?: Record<string, string>
  flags?: string[]
}

/** How one call of a session without a person is decided. */
async function decidedAlone(t: TestContext, pcc: Pcc, { call, setting = {}, flags = [] }: Alone): Promise<string> {
  const project = gitProject(t)
  const turns = `turns: [{ tools: [${call.replaceAll('PROJECT', project)}] }, { text: Finished. }]`
  await using simulator = await openSimulator({ text: `conversations: [{ name: w, match: do it, ${turns} }]` })
  const env = { ...agentEnv(pcc.home, simulator.url), ...setting }
  const { code, stdout, stderr } = await pcc.run(['start', project, '--task', 'do it', '--json', ...flags], { env })
  assert.equal(code, 0, stderr)
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as StoredEvent)
  const found = events.find(event => event.kind === 'permission.decided') as EventOf<'permission.decided'> | undefined
  const { verdict, risk, by } = found?.body ?? {}
  return `${verdict} ${risk} ${by}`
}

const WRITE = '{ Write: { file_path: PROJECT/src/a.ts, content: "export {}" } }'
const DOCUMENT = '{ Write: { file_path: PROJECT/docs/a.md, content: "a" } }'
const MAKE = '{ Bash: { command: mkdir made, description: Make } }'

test('permissions.auto_approve_low_risk, or the flag in its place, lets a LOW request happen without a person', async t => {
  const pcc = pccFor(t)
  const off = { PCC_PERMISSIONS_AUTO_APPROVE_LOW_RISK: 'false' }
  assert.equal(await decidedAlone(t, pcc, { call: WRITE }), 'allow LOW policy')
  assert.equal(await decidedAlone(t, pcc, { call: WRITE, setting: off }), 'deny LOW nobody')
  assert.equal(await decidedAlone(t, pcc, { call: WRITE, setting: off, flags: ['--auto-approve'] }), 'allow LOW policy')
  assert.equal(await decidedAlone(t, pcc, { call: WRITE, flags: ['--no-auto-approve'] }), 'deny LOW nobody')
})

test('permissions.safe_directories are where a write is LOW', async t => {
  const pcc = pccFor(t)
  assert.equal(await decidedAlone(t, pcc, { call: DOCUMENT }), 'allow MEDIUM brain')
  const setting = { PCC_PERMISSIONS_SAFE_DIRECTORIES: 'docs/' }
  assert.equal(await decidedAlone(t, pcc, { call: DOCUMENT, setting }), 'allow LOW policy')
})

test('permissions.blocked_commands are refused however harmless they are', async t => {
  const pcc = pccFor(t)
  assert.equal(await decidedAlone(t, pcc, { call: MAKE }), 'allow MEDIUM brain')
  assert.equal(
    await decidedAlone(t, pcc, { call: MAKE, setting: { PCC_PERMISSIONS_BLOCKED_COMMANDS: 'mkdir' } }),
    'deny MEDIUM rule',
  )
})

test('brain.confidence_threshold is what an opinion must reach to count', async t => {
  const pcc = pccFor(t)
  assert.equal(
    await decidedAlone(t, pcc, { call: MAKE, setting: { PCC_BRAIN_CONFIDENCE_THRESHOLD: '0.99' } }),
    'deny MEDIUM nobody',
  )
})
