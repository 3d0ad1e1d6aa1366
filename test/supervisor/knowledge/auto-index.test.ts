import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gitProject } from '../../support/world.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'
import { scriptedWorld } from '../session/scripted-world.ts'

const FILES = {
  'src/payment.ts':
    '/** Charges a credit card through the gateway. */\nexport function chargeCard(cents: number): boolean {\n  return cents > 0\n}\n',
  ...Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`src/other-${at}.ts`, `export const other${at} = ${at}\n`]),
  ),
}

const open = (t: TestContext, settings: Record<string, string>) =>
  scriptedWorld(
    t,
    scriptedAgent(() => ({})),
    { PCC_KNOWLEDGE_ENABLED: '', ...settings },
  )

for (const [auto, read] of [
  ['true', 0],
  ['false', 13],
] as const)
  test(`with knowledge.auto_index = ${auto}, a session that starts leaves ${read} files to index`, async t => {
    const world = await open(t, { PCC_KNOWLEDGE_AUTO_INDEX: auto })
    const project = gitProject(t, FILES)
    const id = await world.start('work', { project })
    await world.ended(id, 1)
    // Updates run one after the other, so this one is after that of the session.
    assert.equal((await world.code.update(project))?.read, read)
  })

test('a session is not delayed and does not fail if nothing can be indexed', async t => {
  const world = await open(t, {})
  writeFileSync(join(dirname(world.runDir), 'data'), 'a file where the folder of the data should be')
  const id = await world.start('work', { project: gitProject(t, FILES) })
  await world.when(id, ({ status }) => status === 'completed')
  await assert.rejects(world.code.update(gitProject(t, FILES)), { code: 'code_search_failed' })
})

test('the brief of a task contains the code that it is about; with knowledge.enabled = false it does not', async t => {
  const world = await open(t, {})
  const project = gitProject(t, FILES)
  await world.code.update(project)
  const { task } = (await world.call('POST', '/tasks', { project, title: 'Charge the credit card twice' })).body
  const briefOf = async () => (await world.call('GET', `/tasks/${task.id}/brief`)).body.text
  const shown =
    /## Code that may be about this\n[\s\S]*\nsrc\/payment\.ts:1-4 @[0-9a-f]{8}\n\n```\n\/\*\* Charges a credit card/
  assert.match(await briefOf(), shown)
  await world.call('POST', '/runs', { project, target: { kind: 'project' }, env: {} })
  while (world.agent.prompts.length === 0) await new Promise(resolve => setImmediate(resolve))
  assert.match(world.agent.prompts[0] ?? '', shown)
  writeFileSync(join(project, '.perpetualcc.toml'), '[knowledge]\nenabled = false\n')
  assert.doesNotMatch(await briefOf(), /Code that may/)
})
