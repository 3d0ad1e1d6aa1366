import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { commandSandboxes } from '../../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../../src/workspace/command/run-command.ts'
import { configWith } from '../brain/sample.ts'
import { agentSessions, bodiesOf, isEnd } from '../daemon/agent-sessions.ts'
import { bareEnv, gitProject, tempDir } from '../support/world.ts'
import { assertHarmless, attackScript, plantSecrets, SECRET, type Target } from './attack.ts'
import { testAsOrdinaryUser } from './ordinary-user.ts'

/** A victim with a secret in its environment, secrets in a home, and one in /tmp. */
function plant(t: TestContext, { home, project }: { home: string; project: string }): Target {
  const victim = spawn('/bin/sleep', ['600'], { env: { KEY: SECRET }, stdio: 'ignore' })
  t.after(async () => {
    victim.kill('SIGKILL')
    if (victim.exitCode === null && victim.signalCode === null) await once(victim, 'exit')
  })
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const target = { home, paths, project, foreign: join(tempDir(t), 'secret'), victim: victim.pid ?? 0 }
  plantSecrets(target)
  return { ...target, sleeps: `${600 + Math.random()}` }
}

test('a gate that runs what an agent wrote reaches nothing outside of the project, and leaves nothing running', async t => {
  const [home, project] = [tempDir(t), gitProject(t)]
  const target = plant(t, { home, project })
  mkdirSync(target.paths.run, { recursive: true })
  writeFileSync(target.paths.tokenFile, SECRET)
  writeFileSync(join(project, 'attack.js'), attackScript(target))
  const ended = new AbortController()
  await using sandbox = commandSandboxes(configWith({}), { project, paths: target.paths, log: () => undefined })
  const { output, end, exit } = await runCommand(
    {
      ...{ command: 'node attack.js; touch written-inside', directory: project, timeoutMs: 60_000 },
      ...{ env: commandEnvironment(bareEnv(home)), signal: ended.signal },
    },
    { guard: openGuard(), sandbox },
  )
  assert.deepEqual([end, exit], ['exited', 0], output)
  assertHarmless(output, target)
  accessSync(join(project, 'written-inside'))
  process.kill(target.victim, 0)
})

const scenario = `
conversations:
  - match: Attack
    turns:
      - tools: [{ Bash: { command: node attack.js, description: run it } }]
      - tools: [{ Bash: { command: "git add -A && git -c user.name=A -c user.email=a@b.invalid commit -qm done", description: commit } }]
      - text: "It said: {{last_tool_result}}"
`

test('Claude Code that runs what it wrote reaches nothing outside of the project, and leaves nothing running', async t => {
  const home = tempDir(t)
  const { daemon, start, log, project, env } = await agentSessions(t, scenario, { home })
  const target = plant(t, { home: env['HOME'] ?? '', project })
  const attacked = { ...target, paths: daemon.paths }
  writeFileSync(join(project, 'attack.js'), attackScript(attacked))
  const { id } = await start('Attack', { env: { ...env, KEY_OF_SESSION: 'none' } })
  const stream = await daemon.stream(`/events?session=${id}`)
  await stream.until(isEnd)
  stream.close()
  const events = await log(id)
  const printed = bodiesOf(events, 'tool.finished')
    .map(body => JSON.stringify(body))
    .join('\n')
    .replaceAll('\\n', '\n')
  assertHarmless(printed, attacked)
  assert.equal(bodiesOf(events, 'agent.started')[0]?.sandboxed, true)
  process.kill(target.victim, 0)
})

test('the same holds for an ordinary user', async t => {
  const again = await testAsOrdinaryUser(t, 'test/security/wall.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
  assert.match(again.output, /pass 3/)
})
