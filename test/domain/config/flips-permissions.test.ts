import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSimulator } from '../../../src/simulator/open.ts'
import { pccFor } from '../../cli/pcc.ts'
import { agentEnv, gitProject } from '../../support/world.ts'

/** Whether a session without a person writes a file of its project. */
async function writesAlone(t: TestContext, setting: Record<string, string>): Promise<boolean> {
  const project = gitProject(t)
  const file = join(project, 'src/a.ts')
  const write = `{ Write: { file_path: ${JSON.stringify(file)}, content: "export {}" } }`
  const turns = `turns: [{ tools: [${write}] }, { text: Finished. }]`
  await using simulator = await openSimulator({ text: `conversations: [{ name: w, match: write it, ${turns} }]` })
  const pcc = pccFor(t, setting)
  const env = agentEnv(pcc.home, simulator.url)
  const { code, stderr } = await pcc.run(['start', project, '--task', 'write it'], { env })
  assert.equal(code, 0, stderr)
  return existsSync(file)
}

test('permissions.auto_approve_low_risk lets a write in the project happen without a person, or not', async t => {
  assert.equal(await writesAlone(t, {}), true)
  assert.equal(await writesAlone(t, { PCC_PERMISSIONS_AUTO_APPROVE_LOW_RISK: 'false' }), false)
})
