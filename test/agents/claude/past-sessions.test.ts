import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { pastSessions } from '../../../src/agents/claude/past-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { claude } from '../claude-adapter.ts'
import { World } from '../conformance/world.ts'

const run = promisify(execFile)
const MODULE = new URL('../../../src/agents/claude/past-sessions.ts', import.meta.url).href

test("past conversations are those of the caller's own settings folder, of one project or of all", async t => {
  const world = await World.open(t, claude, [{ prompt: 'remember', steps: [{ say: 'Remembered.' }] }])
  const talk = await world.talk('remember this task')
  await talk.turn()
  const vendorId = talk.session.vendorId
  await talk.close()
  const { env } = world.options()
  const all = await listed(env, {})
  assert.deepEqual(
    all.map(one => one.vendor_id),
    [vendorId],
  )
  assert.equal(all[0]?.first_prompt, 'remember this task')
  assert.equal(all[0]?.cwd, world.cwd)
  assert.equal(all[0]?.branch, 'main')
  assert.ok((all[0]?.last_modified ?? 0) > Date.now() - 600_000)
  assert.equal((await listed(env, { dir: world.cwd })).length, 1)
  assert.equal((await listed(env, { dir: tempDir(t) })).length, 0)
})

test('the settings folder of somebody else is not read by mistake', async t => {
  await assert.rejects(pastSessions({ env: { CLAUDE_CONFIG_DIR: tempDir(t) } }), { code: 'internal' })
})

/** In a process of its own: the vendor's library reads the environment of its process. */
async function listed(env: Record<string, string>, options: object): ReturnType<typeof pastSessions> {
  const code = `const { pastSessions } = await import(${JSON.stringify(MODULE)})
    console.log(JSON.stringify(await pastSessions({ env: process.env, ...${JSON.stringify(options)} })))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { env })
  return JSON.parse(stdout) as Awaited<ReturnType<typeof pastSessions>>
}
