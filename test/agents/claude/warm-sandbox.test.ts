import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDriver } from '../../../src/agents/open.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { planSandbox } from '../../../src/workspace/command/plan-sandbox.ts'
import { makeWorktree, reserveWorktree } from '../../../src/workspace/worktrees/make-worktree.ts'
import { configWith } from '../../brain/sample.ts'
import { agentEnv, tempDir } from '../../support/world.ts'
import { openWorktreeFixture, write } from '../../workspace/worktrees/worktree-fixture.ts'
import { ALLOW, asking } from '../conformance/world.ts'

// A process that waits in a sandbox around an empty worktree must behave like one that is started when the worktree is filled.

const COMMAND = 'echo x > ../outside; echo x > .git; echo done > done.txt && git add done.txt && git commit -qm done'
const SCENARIO = `
conversations:
  - match: go
    turns: [{ tools: [{ Bash: { command: "${COMMAND}", description: x } }] }, { text: Done. }]
`

async function reservedWorld(t: TestContext) {
  const simulator = await openSimulator({ text: SCENARIO })
  const driver = await openDriver(claudeAgent, {})
  t.after(async () => {
    await driver.close()
    await simulator.close()
  })
  const fixture = await openWorktreeFixture(t)
  const { project, deps, git } = fixture
  const home = tempDir(t, 'pcc-home-')
  const who = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@x', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@x' }
  const env = { ...agentEnv(home, simulator.url), ...who }
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const wanted = { project, task: 't-000001', attempt: 1 }
  const reserved = await reserveWorktree(wanted, deps)
  assert.ok(reserved)
  const options = async (marker: string): Promise<OpenSession> => {
    const subject = { name: 'Claude Code', asksEveryCall: true, project, worktree: reserved.top, home, paths }
    const { settings: sandbox } = await planSandbox(configWith({}), subject)
    assert.ok(sandbox?.git)
    return {
      ...{ id: 's-000001', cwd: reserved.directory, env, marker, isolation: 'auto', model: 'haiku', sandbox },
      ...{ asks: asking(() => ALLOW), settingSources: ['user', 'project', 'local'] },
    }
  }
  return {
    ...fixture,
    top: reserved.top,
    fill: async () => void (await makeWorktree(wanted, deps, reserved)),
    commit: (files: Record<string, string>) => {
      write(project, files)
      git('add', '-A')
      git('commit', '-qm', 'second')
    },
    async warm() {
      const marker = secretId(12)
      await driver.warm(await options(marker))
      return { marker, pids: (await findMarked(sessionMarker(marker))).map(({ pid }) => pid) }
    },
    /** Runs a session to its end. */
    async work(marker = secretId(12)) {
      const before = simulator.requests.length
      await using session = await driver.open({ ...(await options(marker)), prompt: 'go' })
      const kinds: string[] = []
      for await (const { kind } of session.events) {
        kinds.push(kind)
        if (kind === 'turn_ended') break
      }
      const bodies = simulator.requests.slice(before).map(({ body, model }) => ({ ...body, model }))
      return { pid: session.pid, kinds, bodies }
    },
  }
}

test('a process that waited beside an empty worktree tells the model what a fresh one tells, and works there', async t => {
  const { warm, work, fill, commit, top, git, gitIn } = await reservedWorld(t)
  const { marker, pids } = await warm()
  assert.ok(pids.length > 0)
  commit({
    'CLAUDE.md': 'Mind the new rules.\n',
    '.claude/skills/one/SKILL.md': '---\nname: one\ndescription: the new skill\n---\nx\n',
    '.claude/settings.json': hookThat('SessionStart', 'cat said'),
    said: 'said after',
  })
  await fill()
  const link = readFileSync(join(top, '.git'), 'utf8')
  const waited = await work(marker)
  assert.ok(pids.includes(waited.pid ?? 0))
  assert.equal(waited.kinds.at(-1), 'turn_ended')
  assert.equal(git('log', '-1', '--format=%s', 'pcc/t-000001').trim(), 'done')
  assert.deepEqual([readFileSync(join(top, '.git'), 'utf8'), existsSync(join(top, '..', 'outside'))], [link, false])
  gitIn(top, 'reset', '-q', '--hard', 'main')
  const fresh = await work()
  const told = JSON.stringify(waited.bodies)
  for (const text of ['Mind the new rules', 'the new skill', 'said after', 'second'])
    assert.ok(told.includes(text), text)
  assert.deepEqual(withoutIds(waited.bodies), withoutIds(fresh.bodies))
})

test('a process that refuses the settings of the worktree gives way to a fresh one in a sandbox of its own', async t => {
  const { warm, work, fill, commit, git } = await reservedWorld(t)
  const { marker, pids } = await warm()
  commit({ '.claude/settings.json': JSON.stringify({ env: { OF_THE_PROJECT: '1' } }) })
  await fill()
  const { pid, kinds } = await work(marker)
  assert.deepEqual([pids.includes(pid ?? 0), kinds.at(-1)], [false, 'turn_ended'])
  assert.equal(git('log', '-1', '--format=%s', 'pcc/t-000001').trim(), 'done')
})

test('a process whose sandbox would be another one now is not used', async t => {
  const { warm, work, fill, top, git } = await reservedWorld(t)
  const { marker, pids } = await warm()
  await fill()
  const link = readFileSync(join(top, '.git'), 'utf8')
  // A file that is replaced is no longer the one that is mounted read-only.
  writeFileSync(join(top, 'same'), link)
  renameSync(join(top, 'same'), join(top, '.git'))
  const { pid, kinds } = await work(marker)
  assert.deepEqual([pids.includes(pid ?? 0), kinds.at(-1)], [false, 'turn_ended'])
  assert.equal(readFileSync(join(top, '.git'), 'utf8'), link)
  assert.equal(git('log', '-1', '--format=%s', 'pcc/t-000001').trim(), 'done')
})

function hookThat(event: string, command: string): string {
  return JSON.stringify({ hooks: { [event]: [{ hooks: [{ type: 'command', command }] }] } })
}

/** What differs in every session. */
function withoutIds(bodies: object[]): unknown {
  const text = JSON.stringify(bodies)
  return JSON.parse(text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_sim_[0-9a-f]+/g, '<id>'))
}
