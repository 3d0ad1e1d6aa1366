import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import { AgentProcess } from '../../../src/agents/agent-process.ts'
import { ClaudeConnection } from '../../../src/agents/claude/connection.ts'
import { ClaudeGate } from '../../../src/agents/claude/gate.ts'
import { ClaudeOwnTools } from '../../../src/agents/claude/own-tools.ts'
import { ProcessUse } from '../../../src/agents/claude/process-use.ts'
import { ClaudeSession } from '../../../src/agents/claude/session.ts'
import { openDriver } from '../../../src/agents/open.ts'
import { secretId } from '../../../src/base/ids.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import type { Asks, OpenSession } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { agentEnv, bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { ALLOW, asking, DENY } from '../conformance/world.ts'

// A warm process must behave like a fresh one, although the previous task has changed the project meanwhile.

const SCENARIO = `
conversations:
  - match: go
    turns: [{ tools: [{ Bash: { command: echo judged >> judged.txt, description: x } }] }, { text: Done. }]
`

async function warmWorld(t: TestContext) {
  const simulator = await openSimulator({ text: SCENARIO })
  const driver = await openDriver(claudeAgent, {})
  t.after(async () => {
    await driver.close()
    await simulator.close()
  })
  const cwd = gitProject(t)
  const env = agentEnv(tempDir(t, 'pcc-home-'), simulator.url)
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
  const options = (marker: string, asks: Asks): OpenSession => ({
    ...{ id: 's-000001', cwd, env, marker, asks, isolation: 'auto', model: 'haiku' },
    settingSources: ['user', 'project', 'local'],
  })
  return {
    simulator,
    cwd,
    put,
    git: (...args: string[]) => execFileSync('git', args, { cwd, env: bareEnv(cwd), stdio: 'pipe' }),
    async warm() {
      const marker = secretId(12)
      await driver.warm(
        options(
          marker,
          asking(() => DENY),
        ),
      )
      const [{ pid } = { pid: 0 }] = await findMarked(sessionMarker(marker))
      return { marker, pid }
    },
    /** Runs a session to its end: its process, its requests and its events. */
    async work(marker = secretId(12), asks = asking(() => ALLOW)) {
      const before = simulator.requests.length
      await using session = await driver.open({ ...options(marker, asks), prompt: 'go' })
      const kinds: string[] = []
      for await (const event of session.events) {
        kinds.push(event.kind)
        if (event.kind === 'turn_ended') break
      }
      const { pid } = session
      const requests = simulator.requests.slice(before)
      return { pid, kinds, requests, bodies: requests.map(({ body, model }) => ({ ...body, model })), asks }
    },
  }
}

test('a CLAUDE.md imports other files, and none that holds secrets', async t => {
  const { work, put } = await warmWorld(t)
  put('CLAUDE.md', 'Mind @rules.md and @.env and @conf/.env.local and @sub/server.pem and @./rules.env today.\n')
  put('rules.md', 'Mind the imported rules. @more/.env\n')
  for (const path of ['.env', 'conf/.env.local', 'more/.env', 'rules.env']) put(path, `KEY=planted-${path}\n`)
  put('sub/server.pem', 'planted-pem\n')
  const told = JSON.stringify((await work()).bodies)
  assert.ok(told.includes('Mind the imported rules'))
  assert.equal(/planted-[\w./-]+/.exec(told)?.[0], undefined)
})

test('what a process that waited tells the model is what a fresh one tells, whatever has changed since it was started', async t => {
  const { warm, work, put, git, cwd } = await warmWorld(t)
  put('CLAUDE.md', 'Mind the old rules.\n')
  put('.claude/skills/one/SKILL.md', '---\nname: one\ndescription: the old skill\n---\nx\n')
  const starts = join(tempDir(t), 'starts')
  put('.claude/settings.json', hookThat('SessionStart', `cat ${cwd}/said; echo >> ${starts}`))
  put('said', 'said before')
  const { marker, pid } = await warm()
  assert.equal(existsSync(starts), false, 'a process that nobody took has begun no session')
  put('CLAUDE.md', 'Mind the new rules.\n')
  put('.claude/skills/one/SKILL.md', '---\nname: one\ndescription: the new skill\n---\nx\n')
  put('said', 'said after')
  git('add', '-A')
  git('-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', 'commit', '-q', '-m', 'second')
  const waited = await work(marker)
  assert.equal(waited.pid, pid)
  git('clean', '-fdq')
  const fresh = await work()
  const told = JSON.stringify(waited.bodies)
  for (const text of ['Mind the new rules', 'the new skill', 'said after', 'second'])
    assert.ok(told.includes(text), text)
  assert.deepEqual(withoutIds(waited.bodies), withoutIds(fresh.bodies))
  assert.deepEqual(waited.kinds, fresh.kinds)
})

test('a process that may not take the folder on gives way to a fresh one, and nothing is lost', async t => {
  const { warm, work, put } = await warmWorld(t)
  const { marker, pid } = await warm()
  put('.claude/settings.json', JSON.stringify({ env: { OF_THE_PROJECT: '1' } }))
  const { pid: taken, kinds, requests } = await work(marker)
  assert.notEqual(taken, pid)
  assert.equal(kinds.at(-1), 'turn_ended')
  assert.equal(requests.length, 2)
  assert.equal((await warm()).pid, 0, 'no other is started for that folder in vain')
})

test('rules, mode and switched-off hooks of a project do not open the gate of a process that waited', async t => {
  const { warm, work, put, cwd } = await warmWorld(t)
  const { marker, pid } = await warm()
  put(
    '.claude/settings.json',
    JSON.stringify({
      permissions: { allow: ['Bash', 'Bash(*)', 'Bash(echo:*)'], defaultMode: 'bypassPermissions' },
      disableAllHooks: true,
    }),
  )
  const { pid: taken, asks } = await work(
    marker,
    asking(() => DENY),
  )
  assert.equal(taken, pid)
  assert.equal(asks.requests.length, 1)
  assert.equal(existsSync(join(cwd, 'judged.txt')), false)
})

test('a session that is stopped while a process becomes its own says nothing to the model', async () => {
  const taken = Promise.withResolvers<Query>()
  const heard = Promise.withResolvers<void>()
  const said: unknown[] = []
  const agent = new AgentProcess({
    manifest: claudeAgent,
    guard: openGuard(),
    isolation: 'marker',
    marker: 'of-nobody',
  })
  const seat = {
    ...{ gate: new ClaudeGate(1000), agent, own: new ClaudeOwnTools([]), askDeadlineMs: 1000, reofferMs: 1000 },
    ...{ connection: new ClaudeConnection(hears), use: new ProcessUse(), kept: { add: () => assert.fail() } },
  }
  const options = { id: 's-000001', cwd: '/', env: {}, asks: asking(() => DENY), settingSources: [], prompt: 'go' }
  const session = new ClaudeSession({ ...options, isolation: 'marker' }, seat)
  const closed = session[Symbol.asyncDispose]()
  taken.resolve({ close: () => undefined, async *[Symbol.asyncIterator]() {} } as unknown as Query)
  await closed
  await heard.promise
  assert.deepEqual(said, [])

  async function hears(prompts: AsyncIterable<unknown>): Promise<Query> {
    // It listens only some time after it was taken.
    setImmediate(async () => {
      for await (const prompt of prompts) said.push(prompt)
      heard.resolve()
    })
    return taken.promise
  }
})

function hookThat(event: string, command: string): string {
  return JSON.stringify({ hooks: { [event]: [{ hooks: [{ type: 'command', command }] }] } })
}

/** Ids that differ in every session. */
function withoutIds(bodies: object[]): unknown {
  const text = JSON.stringify(bodies)
  return JSON.parse(text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_sim_[0-9a-f]+/g, '<id>'))
}
