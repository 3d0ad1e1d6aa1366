import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { writePrograms } from '../../scripts/chaos/fixture/agent-programs.ts'
import { bareEnv, tempDir } from '../support/world.ts'

/** Starts an agent in a directory and waits until it has answered. */
async function begin(t: TestContext, program: string, cwd: string) {
  const agent = spawn(program, { cwd, env: bareEnv(cwd), stdio: ['pipe', 'pipe', 'ignore'] })
  t.after(() => agent.kill('SIGKILL'))
  agent.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
  await once(createInterface({ input: agent.stdout }), 'line')
  return agent
}

test('two agents alive in one directory are recorded, however briefly, and two in sequence are not', async t => {
  const folder = tempDir(t)
  const planFile = join(folder, 'plan.json')
  writeFileSync(planFile, '{}')
  const { second, overlaps } = writePrograms(folder, {}, planFile)
  const [here, there] = [tempDir(t), tempDir(t)]
  const first = await begin(t, second, here)
  await begin(t, second, there)
  assert.deepEqual(overlaps(), [], 'they work in different places')
  first.kill('SIGKILL')
  await once(first, 'exit')
  const next = await begin(t, second, here)
  assert.deepEqual(overlaps(), [], 'the lock of one that was killed is not stale')
  await begin(t, second, here)
  assert.equal(overlaps().length, 1)
  next.kill('SIGKILL')
})
