import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { nestingDepth, OBSERVED_MARKER } from '../../../src/base/process/marker.ts'
import { brandProcess } from '../../../src/base/process/peer.ts'
import { answerInline } from '../../../src/supervisor/hooks/answer-inline.ts'
import { bareEnv } from '../../support/world.ts'
import { openHookWorld } from './hook-world.ts'

test('inside more than five agents, each started by the one before, every call is refused at once, and a stop is not held', async t => {
  const { project, paths, home } = openHookWorld(t)
  const agent = spawn('sleep', ['600'], { env: bareEnv(home), stdio: 'ignore' })
  t.after(() => agent.kill('SIGKILL'))
  const pid = agent.pid ?? assert.fail('it runs')
  let calls = 0
  const ask = (native: string, more: object) =>
    answerInline({
      ...{ vendor: 'claude', native, paths, withinMs: 60_000 },
      caller: { id: `call-${calls++}`, ppid: pid, folder: project, env: bareEnv(home) },
      stdin: Buffer.from(JSON.stringify({ session_id: 'c-1', cwd: project, hook_event_name: native, ...more })),
    })
  const look = () => ask('PreToolUse', { tool_name: 'Bash', tool_use_id: 'u-1', tool_input: { command: 'git status' } })

  const before = nestingDepth(pid)
  assert.match((await look()).stdout, /"allow"/)
  assert.equal(nestingDepth(pid), before + 1, 'an agent that calls a hook is one more')
  assert.match((await look()).stdout, /"allow"/)
  assert.equal(nestingDepth(pid), before + 1, 'and is counted once')
  while (nestingDepth(pid) < 5) assert.ok(brandProcess(OBSERVED_MARKER, pid, bareEnv(home)))
  assert.match((await look()).stdout, /"allow"/)
  brandProcess(OBSERVED_MARKER, pid, bareEnv(home))
  const refused = await look()
  assert.equal(refused.exit, 2)
  assert.match(refused.stderr, /looks like a loop/)
  assert.deepEqual(await ask('Stop', { last_assistant_message: 'Done.' }), { stdout: '', stderr: '', exit: 0 })
})
