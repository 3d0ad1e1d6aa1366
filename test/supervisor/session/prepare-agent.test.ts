import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { findBubblewrap } from '../../../src/base/sandbox/bubblewrap.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { readModelSetup } from '../../../src/brain/open.ts'
import { STANDARD_AGENT_ENV } from '../../../src/domain/agent-env.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import {
  accountOf,
  brainEnvironment,
  formerAccounts,
  planSandbox,
  startNotes,
} from '../../../src/supervisor/session/prepare-agent.ts'
import { configWith } from '../../brain/sample.ts'
import { writeConfigFiles } from '../../domain/config/config-files.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

const of = (kind: string, env: Record<string, string> = {}) =>
  accountOf({ kind, name: kind }, { HOME: '/home/me', ...env })

test('two custom agents have two accounts, although both are scripts of one interpreter', () => {
  const own = (script: string) =>
    accountOf({ kind: 'custom', name: 'node', command: ['node', script] }, { HOME: '/home/me' })
  assert.equal(own('/a.mjs'), own('/a.mjs'))
  assert.notEqual(own('/a.mjs'), own('/b.mjs'))
})

test('opencode with the key of one vendor shares the account, and so the limit, of that vendor’s agents', () => {
  const claude = { ANTHROPIC_API_KEY: 'a' }
  assert.equal(of('opencode', claude), of('claude', claude))
  assert.equal(of('opencode', { OPENAI_API_KEY: 'o' }), of('codex', { OPENAI_API_KEY: 'o' }))
  const both = { ...claude, OPENAI_API_KEY: 'o' }
  assert.notEqual(of('opencode', both), of('claude', both), 'which of the two keys it uses is unknown')
})

test('the former ids of an account are known, and do not include those of another account', () => {
  const mine = { kind: 'custom', name: 'node', command: ['node', '/a.mjs'] }
  const env = { HOME: '/home/me' }
  assert.deepEqual(formerAccounts(mine, env), formerAccounts({ ...mine, command: ['node', '/b.mjs'] }, env))
  assert.equal(formerAccounts(mine, env).includes(accountOf(mine, env)), false)
  assert.notDeepEqual(formerAccounts(mine, { HOME: '/home/you' }), formerAccounts(mine, env))
  const claude = { kind: 'claude', name: 'claude' }
  assert.deepEqual(formerAccounts(claude, env), [accountOf(claude, env)], 'the id of Claude Code has not changed')
})

const SET = `agents.sandbox = "off"
agents.network = ["example.com"]
agents.sandbox_read = ["~/.shown"]
agents.sandbox_write = ["~/.cache/thing"]
`

const paths = appPathsFor({ env: { HOME: '/home/me' }, dataDir: '/srv/pcc' })
const HIDDEN = ['/home/me/.perpetualcc', '/srv/pcc', '/srv/pcc/run', '/srv/pcc/logs']

test('agents.sandbox, agents.network, agents.sandbox_read and agents.sandbox_write reach the sandbox', async t => {
  const where = { manifest: geminiAgent, project: tempDir(t), place: undefined, paths }
  const { settings: standard } = await planSandbox((await loadConfig(writeConfigFiles(t))).config, where)
  const made = await findBubblewrap()
  assert.deepEqual(standard, {
    ...('program' in made ? { mode: 'required', made } : { mode: 'auto' }),
    ...{ network: [], read: [], write: [], hidden: HIDDEN, git: undefined },
  })
  const { settings: set, isInForce } = await planSandbox(
    (await loadConfig(writeConfigFiles(t, { user: SET }))).config,
    where,
  )
  assert.deepEqual(
    { ...set, git: undefined },
    {
      mode: 'off',
      hidden: HIDDEN,
      git: undefined,
      network: ['example.com'],
      read: ['~/.shown'],
      write: ['~/.cache/thing'],
    },
  )
  assert.equal(isInForce, false)
})

test('a required sandbox is there, or nothing is started', async t => {
  const { config } = await loadConfig(writeConfigFiles(t, { user: 'agents.sandbox = "required"\n' }))
  const where = { manifest: geminiAgent, project: tempDir(t), place: undefined, paths }
  if ('program' in (await findBubblewrap())) assert.equal((await planSandbox(config, where)).isInForce, true)
  else await assert.rejects(planSandbox(config, where), { code: 'sandbox_missing' })
  const held = await planSandbox(config, { ...where, manifest: claudeAgent })
  assert.deepEqual(held, { settings: undefined, isInForce: false })
})

test('the repository of a worktree is found from the project, whatever the worktree says', async t => {
  const project = gitProject(t)
  const top = join(tempDir(t), 'tree')
  const env = bareEnv(tempDir(t))
  execFileSync('git', ['worktree', 'add', '-q', '-b', 'pcc/t', top], { cwd: project, env, stdio: 'pipe' })
  const { config } = await loadConfig(writeConfigFiles(t))
  const place = { directory: top, top, task: 't-1', attempt: 1, branch: 'pcc/t', target: 'main', base: 'x' }
  const { settings } = await planSandbox(config, { manifest: geminiAgent, project, place, paths })
  const common = join(project, '.git')
  assert.deepEqual(settings?.git, { top, own: join(common, 'worktrees/tree'), common })
  assert.deepEqual(settings?.read, [project])
  execFileSync('sh', ['-c', `printf 'gitdir: ${tempDir(t)}\n' > .git`], { cwd: top })
  assert.deepEqual(
    (await planSandbox(config, { manifest: geminiAgent, project, place, paths })).settings?.git,
    undefined,
  )
})

test('the folder of a socket outside of the data directory is hidden too', async t => {
  const { config } = await loadConfig(writeConfigFiles(t))
  const long = appPathsFor({ env: { HOME: '/home/me' }, dataDir: `/srv/${'x'.repeat(120)}` })
  const { settings } = await planSandbox(config, {
    ...{ manifest: geminiAgent, project: tempDir(t), place: undefined },
    paths: long,
  })
  assert.ok(settings?.hidden.includes(dirname(long.socket)))
  assert.ok(!dirname(long.socket).startsWith('/srv'))
})

const DAEMON = {
  HOME: '/daemon',
  ANTHROPIC_API_KEY: 'fake-of-the-daemon',
  AWS_ACCESS_KEY_ID: 'fake-of-the-daemon',
  GEMINI_API_KEY: 'fake-gemini',
}

test('a brain has the login of its session and no variables of another login that the daemon was started with', () => {
  for (const session of [{ CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' }, { CLAUDE_CODE_USE_BEDROCK: '1' }]) {
    const env = brainEnvironment({ daemon: DAEMON, session, patterns: STANDARD_AGENT_ENV })
    const judge = readModelSetup('claude', configWith({ 'brain.type': 'claude' }), env)
    assert.deepEqual('env' in judge && judge.env, session)
  }
})

test('a key that settings only name is found in the environment of the daemon, and that of the session counts first', () => {
  const of = (session: Record<string, string>) =>
    brainEnvironment({ daemon: DAEMON, session, patterns: STANDARD_AGENT_ENV })['GEMINI_API_KEY']
  assert.deepEqual([of({}), of({ GEMINI_API_KEY: 'fake-other' })], ['fake-gemini', 'fake-other'])
})

test('the brains of a session are opened with that environment', async t => {
  const world = await scriptedWorld(
    t,
    scriptedAgent(() => ({})),
    { ANTHROPIC_API_KEY: 'fake-of-the-daemon' },
  )
  const id = await world.start('do it', { env: { CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' } })
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual(world.environments, [{ CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' }])
})

test('a session starts without a note on trust where nothing of the project is left out', () => {
  const notes = (untrusted: string[]) =>
    startNotes({
      loaded: { projectFile: '/p/pcc.toml', untrusted } as unknown as Parameters<typeof startNotes>[0]['loaded'],
      rules: { rules: [], waiting: [], problem: undefined } as unknown as Parameters<typeof startNotes>[0]['rules'],
      ...{ sources: undefined, allowedTools: [] },
    })
  assert.deepEqual(notes([]), [])
  assert.deepEqual(notes(['agent.command']), [
    '/p/pcc.toml: left out until you agree to it with pcc trust: agent.command',
  ])
})
