import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { userRulesFile } from '../../src/policy/verdict/rules-file.ts'
import { type AgentSessions, agentSessions, bodiesOf, isEnd } from '../daemon/agent-sessions.ts'
import { BIN } from '../support/program.ts'
import { bareEnv, tempDir } from '../support/world.ts'

const RULE = '[[rules]]\neffect = "allow"\ntool = "Bash"\nmatch = "rm -rf build"\n'

/** The agent writes a script that appends to the person's rules, as a test file of the project could, and runs it. */
const scenario = (rules: string) => `
conversations:
  - match: Write your own rule
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/src/rule.js", content: ${JSON.stringify(`require('node:fs').appendFileSync(${JSON.stringify(rules)}, ${JSON.stringify(RULE)})`)} } }]
      - tools: [{ Bash: { command: node src/rule.js, description: run it } }]
      - tools: [{ Bash: { command: rm -rf build, description: remove } }]
      - text: Done.
  - match: Remove the build
    turns:
      - tools: [{ Bash: { command: rm -rf build, description: remove } }]
      - text: Done.
`

async function verdictOnRemoval({ daemon, start, log }: AgentSessions, task: string): Promise<string | undefined> {
  const { id } = await start(task)
  const stream = await daemon.stream(`/events?session=${id}`)
  await stream.until(isEnd)
  stream.close()
  const decided = bodiesOf(await log(id), 'permission.decided')
  return decided.filter(({ tool }) => tool === 'Bash').at(-1)?.verdict
}

test('a rule that an agent writes into the rules of the person counts only after the person has accepted it', async t => {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  // In the sandbox the file is not even there.
  const env = { PCC_AGENTS_SANDBOX: 'off' }
  const world = await agentSessions(t, scenario(userRulesFile(paths)), { home, env })
  const build = join(world.project, 'build')
  mkdirSync(build)
  assert.equal(await verdictOnRemoval(world, 'Write your own rule'), 'deny')
  assert.equal(readFileSync(userRulesFile(paths), 'utf8'), RULE, 'the script of the agent ran')
  assert.ok(existsSync(build))

  const pcc = async (...args: string[]) => {
    const child = spawn(process.execPath, [BIN, ...args], { env: { ...bareEnv(home), PCC_HOME: paths.home } })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, stdout, stderr }
  }
  assert.match((await pcc('pending')).stderr, /rules\.toml was changed outside pcc; .* pcc accept/)
  const accepted = await pcc('accept', '--yes')
  assert.equal(accepted.code, 0, accepted.stderr)
  assert.match(accepted.stdout, /\+ match = "rm -rf build"/)
  assert.doesNotMatch((await pcc('pending')).stderr, /changed outside/)
  assert.equal(await verdictOnRemoval(world, 'Remove the build'), 'allow')
  assert.equal(existsSync(build), false)
})
