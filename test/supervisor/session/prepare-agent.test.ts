import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { findBubblewrap } from '../../../src/base/sandbox/bubblewrap.ts'
import type { SandboxSettings } from '../../../src/base/sandbox/settings.ts'
import { packagesOfPcc } from '../../../src/base/sandbox/visible-paths.ts'
import { readModelSetup } from '../../../src/brain/open.ts'
import { accountOf, formerAccounts } from '../../../src/domain/account.ts'
import { STANDARD_AGENT_ENV } from '../../../src/domain/agent-env.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { brainEnvironment, secretEnvironment, startNotes } from '../../../src/supervisor/session/prepare-agent.ts'
import { networkFileSystem, planSandbox, sandboxNotes } from '../../../src/workspace/command/plan-sandbox.ts'
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

test('agents.secret_env gives a stored secret to the agent of that name alone, and refuses where it cannot be read', async () => {
  const secrets = {
    lookUp: async (name: string) => (name === 'gone' ? { problem: 'it is not set' } : { value: `value of ${name}` }),
    read: async () => undefined,
    known: () => [],
  }
  const given = configWith({
    'agents.secret_env': ['claude:ANTHROPIC_API_KEY=mine', 'codex:OPENAI_API_KEY=gone', 'claude:LD_PRELOAD=mine'],
  })
  assert.deepEqual(await secretEnvironment({ name: 'claude' }, given, secrets), { ANTHROPIC_API_KEY: 'value of mine' })
  assert.deepEqual(await secretEnvironment({ name: 'gemini' }, given, secrets), {})
  await assert.rejects(secretEnvironment({ name: 'codex' }, given, secrets), {
    code: 'secret_for_agent',
    message: /codex gets OPENAI_API_KEY from the secret gone .*it is not set/,
  })
})

const SET = `agents.network = ["example.com"]
agents.sandbox_read = ["~/.shown"]
agents.sandbox_write = ["~/.cache/thing"]
`

const paths = appPathsFor({ env: { HOME: '/home/me' }, dataDir: '/srv/pcc' })
const HIDDEN = [
  '/home/me/.perpetualcc',
  '/srv/pcc',
  '/srv/pcc/run',
  '/srv/pcc/logs',
  '/home/me/.config/perpetualcc/memory',
]

const where = (project: string) => ({ name: 'An agent', asksEveryCall: false, project, home: '/home/me', paths })

test('agents.sandbox, agents.network, agents.sandbox_read and agents.sandbox_write reach the sandbox', async t => {
  const made = await findBubblewrap()
  const project = tempDir(t)
  const standard = await planSandbox((await loadConfig(writeConfigFiles(t))).config, where(project))
  const set = await planSandbox((await loadConfig(writeConfigFiles(t, { user: SET }))).config, where(project))
  const off = await planSandbox(configWith({ 'agents.sandbox': 'off' }), where(project))
  assert.deepEqual(off, { settings: undefined })
  if (!('program' in made))
    return assert.deepEqual([standard, set], Array(2).fill({ settings: undefined, missing: made }))
  const { scratch, caches, conversations = '', ...settings } = standard.settings ?? {}
  const folders = [scratch, dirname(caches?.folder ?? ''), dirname(conversations)]
  assert.deepEqual(folders, ['/srv/pcc/run/boxes', '/srv/pcc/caches', '/srv/pcc/conversations'])
  assert.deepEqual(settings, {
    ...{ mode: 'required', made, network: [], read: [], write: [], hidden: HIDDEN, git: undefined },
  })
  const { network, read, write } = set.settings ?? {}
  assert.deepEqual(
    { network, read, write },
    { network: ['example.com'], read: ['~/.shown'], write: ['~/.cache/thing'] },
  )
})

test('an agent that asks about every call keeps the network of the machine, unless hosts are listed', async t => {
  if (!('program' in (await findBubblewrap()))) return
  const subject = { ...where(tempDir(t)), asksEveryCall: true }
  const network = async (hosts: string[]) =>
    (await planSandbox(configWith({ 'agents.network': hosts }), subject)).settings?.network
  assert.deepEqual([await network([]), await network(['example.com'])], [['*'], ['example.com']])
})

test('a required sandbox is there, or nothing is started', async t => {
  const config = configWith({ 'agents.sandbox': 'required' })
  const subject = where(tempDir(t))
  if ('program' in (await findBubblewrap())) assert.ok((await planSandbox(config, subject)).settings)
  else await assert.rejects(planSandbox(config, subject), { code: 'sandbox_missing' })
})

test('a project that holds the home directory has no sandbox, and that is said', async t => {
  if (!('program' in (await findBubblewrap()))) return
  const home = tempDir(t)
  const plan = await planSandbox(configWith({}), { ...where(home), asksEveryCall: true, home })
  assert.equal(plan.settings, undefined)
  assert.match(plan.missing?.problem ?? '', /cannot be opened in a sandbox/)
})

test('the repository of a worktree is found from the project, whatever the worktree says', async t => {
  if (!('program' in (await findBubblewrap()))) return
  const project = gitProject(t)
  const top = join(tempDir(t), 'tree')
  const env = bareEnv(tempDir(t))
  execFileSync('git', ['worktree', 'add', '-q', '-b', 'pcc/t', top], { cwd: project, env, stdio: 'pipe' })
  const plan = async () => (await planSandbox(configWith({}), { ...where(project), worktree: top })).settings
  const common = join(project, '.git')
  assert.deepEqual((await plan())?.git, { top, own: join(common, 'worktrees/tree'), common })
  assert.deepEqual((await plan())?.read, [project])
  execFileSync('sh', ['-c', `printf 'gitdir: ${tempDir(t)}\n' > .git`], { cwd: top })
  assert.deepEqual((await plan())?.git, undefined)
})

test('a repository that is kept elsewhere is written only if it names its checkout, and what to do is said', async t => {
  if (!('program' in (await findBubblewrap()))) return
  const [project, apart] = [tempDir(t), join(tempDir(t), 'apart')]
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: project, env: bareEnv(tempDir(t)), stdio: 'pipe' })
  git('init', '-q', `--separate-git-dir=${apart}`)
  const plan = () => planSandbox(configWith({}), where(project))
  await assert.rejects(plan(), { code: 'sandbox_git', next: /git config core\.worktree "\$PWD"/ })
  git('config', 'core.worktree', project)
  assert.deepEqual((await plan()).settings?.git, { top: project, own: apart, common: apart })
  git('config', 'core.worktree', tempDir(t))
  await assert.rejects(plan(), { code: 'sandbox_git' })
})

test('a project on a network file system is said to be on one', () => {
  assert.deepEqual(
    [0x6969, 0xff534d42 | 0, 0xef53].map(type => networkFileSystem({ type })),
    ['NFS', 'SMB', undefined],
  )
  assert.match(
    sandboxNotes({ settings: undefined, remote: 'NFS' })[0] ?? '',
    /network file system \(NFS\).*disk of this/,
  )
})

test('a project or a home of another user that a sandbox cannot write is named, with what to do', async t => {
  if (!('program' in (await findBubblewrap()))) return
  const [project, home, given] = [tempDir(t), tempDir(t), tempDir(t)]
  if (process.getuid?.() === 0) chownSync(given, 12345, 12345)
  const foreign = process.getuid?.() === 0 ? given : '/usr'
  const plan = (of: { project: string; home: string }) => planSandbox(configWith({}), { ...where(of.project), ...of })
  assert.equal((await plan({ project, home })).foreign, undefined)
  for (const of of [
    { project: foreign, home },
    { project, home: foreign },
  ])
    assert.match(
      sandboxNotes(await plan(of))[0] ?? '',
      new RegExp(`^${foreign} belongs to another user.* Run pcc as that user`),
    )
  chmodSync(given, 0o777)
  assert.equal((await plan({ project: given, home })).foreign, undefined, 'everybody may write it')
})

test('packages of the project from which pcc itself runs are read-only, and that is said', async () => {
  const inProject = '/p/node_modules/.pnpm/pcc@1/node_modules/perpetualcc/bin/pcc.js'
  assert.deepEqual(packagesOfPcc('/p', [inProject, '/p/node_modules/node/bin/node']), ['/p/node_modules'])
  assert.deepEqual(packagesOfPcc('/w/node_modules/p', ['/w/node_modules/perpetualcc/bin/pcc.js', '/p/bin/node']), [])
  if (!('program' in (await findBubblewrap()))) return
  const root = join(import.meta.dirname, '../../..') // the tests of a checkout run with a Node of its own
  assert.deepEqual((await planSandbox(configWith({}), where(root))).settings?.kept ?? [], packagesOfPcc(root))
  const settings = { kept: ['/p/node_modules'] } as unknown as SandboxSettings
  assert.match(sandboxNotes({ settings })[0] ?? '', /runs from \/p\/node_modules.*read-only.* npm install -g /)
})

test('the folder of a socket outside of the data directory is hidden too', async t => {
  if (!('program' in (await findBubblewrap()))) return
  const long = appPathsFor({ env: { HOME: '/home/me' }, dataDir: `/srv/${'x'.repeat(120)}` })
  const { settings } = await planSandbox(configWith({}), { ...where(tempDir(t)), paths: long })
  assert.ok(settings?.hidden.includes(dirname(long.socket)))
  assert.ok(!dirname(long.socket).startsWith('/srv'))
})

test('a session that starts without a sandbox says so, with what to do', () => {
  const missing = { problem: 'bubblewrap is not installed', install: 'Install bubblewrap.' }
  const [note] = startNotes({ ...NOTHING_TO_SAY, sandbox: { settings: undefined, missing } })
  assert.match(note ?? '', /There is no sandbox: .*bubblewrap is not installed.*Install bubblewrap\./)
})

const NOTHING_TO_SAY = {
  loaded: { projectFile: '/p/pcc.toml', untrusted: [] } as unknown as Parameters<typeof startNotes>[0]['loaded'],
  rules: { rules: [], waiting: [], problem: undefined } as unknown as Parameters<typeof startNotes>[0]['rules'],
  ...{ sources: undefined, allowedTools: [], sandbox: { settings: undefined } },
}

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
  const ofVendor = world.environments.map(env =>
    Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PCC_'))),
  )
  assert.deepEqual(ofVendor, [{ CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' }])
})

test('a session starts without a note on trust where nothing of the project is left out', () => {
  const notes = (untrusted: string[]) =>
    startNotes({ ...NOTHING_TO_SAY, loaded: { ...NOTHING_TO_SAY.loaded, untrusted } as typeof NOTHING_TO_SAY.loaded })
  assert.deepEqual(notes([]), [])
  assert.deepEqual(notes(['agent.command']), [
    '/p/pcc.toml: left out until you agree to it with pcc trust: agent.command',
  ])
})
