import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { judgePermission } from '../../src/brain/rules/permission.ts'
import type { Verdict } from '../../src/domain/session.ts'
import { classify } from '../../src/policy/classify/classify.ts'
import { resolveRealPath } from '../../src/policy/paths/fence.ts'
import { decide } from '../../src/policy/verdict/decide.ts'
import { tempDir } from '../support/world.ts'

interface Here {
  project: string
  home: string
  cwd?: string
  autoApproveLow?: boolean
}

/** The decision under default settings with somebody attached, so that an undecided request shows as `ask`. */
async function decided(tool: string, input: Record<string, unknown>, here: Here): Promise<Verdict> {
  const assessment = await classify({ tool, input, ...here })
  const { autoApproveLow = true } = here
  const blocked = ['rm -rf /', 'sudo', 'curl | sh']
  const standard = { tool, blocked, rules: [], autoApproveLow, threshold: 0.7, opinion: judgePermission }
  return decide(assessment, { ...standard, attached: true, unattendedHigh: 'deny' }, AbortSignal.timeout(5_000))
}

/** A project with links of every kind, a sibling with a longer name, and a home beside it. */
function world(t: TestContext) {
  const base = resolveRealPath(tempDir(t)) ?? ''
  const project = join(base, 'app')
  const home = join(base, 'home')
  for (const dir of ['app/src/deep', 'app-secrets', 'home/.ssh', 'outside'])
    mkdirSync(join(base, dir), { recursive: true })
  for (const file of ['app/src/a.ts', 'app/.env', 'app-secrets/x', 'home/.ssh/id_rsa', 'outside/x']) {
    writeFileSync(join(base, file), 'x')
  }
  symlinkSync('../outside', join(project, 'out'))
  symlinkSync('../outside/x', join(project, 'x-link'))
  symlinkSync('../outside/not-yet', join(project, 'dangling'))
  symlinkSync('src', join(project, 'inner'))
  symlinkSync('.env', join(project, 'innocent.txt'))
  symlinkSync('loop', join(project, 'loop'))
  const ask = (tool: string, input: Record<string, unknown>, more: Partial<Here> = {}) =>
    decided(tool, input, { project, home, cwd: project, ...more })
  return { base, project, home, ask }
}

test('reads and writes inside the project are allowed, by their absolute, relative or linked path', async t => {
  const { project, ask } = world(t)
  const low = ['src/a.ts', './src/../src/a.ts', join(project, 'src/a.ts'), 'inner/a.ts', 'src/new/deep/file.ts']
  const everyday = ['...three', '.gitignore', 'README.md', 'docs/new.md']
  for (const path of [...low, 'src/..dots/file.ts', 'src/ümlaut file.ts', ...everyday]) {
    assert.deepEqual(pick(await ask('Read', { file_path: path })), ['allow', 'LOW', 'policy'], path)
    const by = everyday.includes(path) ? ['allow', 'MEDIUM', 'brain'] : ['allow', 'LOW', 'policy']
    for (const tool of ['Write', 'Edit', 'MultiEdit'])
      assert.deepEqual(pick(await ask(tool, { file_path: path })), by, `${tool} ${path}`)
    assert.deepEqual(pick(await ask('NotebookEdit', { notebook_path: path })), by, path)
  }
})

test('nothing outside the project is written unasked, however it is spelled', async t => {
  const { base, home, ask } = world(t)
  const outside = [
    '/etc/passwd',
    '../outside/x',
    'src/../../outside/x',
    join(base, 'app-secrets/x'),
    '../app-secrets/x',
  ]
  const homes = ['~', '~/notes.txt', '~root/x', join(home, 'notes.txt'), '$HOME/x', '${HOME}/x', '$OTHER/x']
  const links = ['out/x', 'out/new', 'x-link', 'dangling', 'dangling/below', 'out/../src/a.ts', 'loop', 'loop/x']
  const odd = [
    ' /etc/passwd',
    '/etc/passwd ',
    'src/a.ts\n',
    'src\\..\\..\\outside',
    'src/\0x',
    'file:///etc/passwd',
    '',
  ]
  for (const path of [...outside, base, ...homes, ...links, 'src/a.ts/below', ...odd]) {
    for (const tool of ['Write', 'Edit']) {
      const verdict = await ask(tool, { file_path: path })
      assert.equal(verdict.verdict, 'ask', `${tool} ${JSON.stringify(path)}: ${verdict.reason}`)
      assert.notEqual(verdict.risk, 'LOW')
    }
  }
})

test('a relative path begins where the call stands, not where the project begins', async t => {
  const { base, project, ask } = world(t)
  assert.equal((await ask('Write', { file_path: '../a.ts' }, { cwd: join(project, 'src/deep') })).verdict, 'allow')
  assert.equal((await ask('Write', { file_path: 'a.ts' }, { cwd: join(base, 'outside') })).verdict, 'ask')
})

test('files with secrets are asked about inside the project too, and through a link', async t => {
  const { ask } = world(t)
  const keys = ['certs/server.pem', 'deploy.KEY', 'id_rsa', '.ssh/config']
  const named = ['.npmrc', 'config/credentials.json', 'secrets.yaml']
  for (const path of [
    '.env',
    '.env.local',
    '.ENV',
    '.envrc',
    'src/.env.production',
    'innocent.txt',
    ...keys,
    ...named,
  ]) {
    for (const tool of ['Read', 'Write'])
      assert.deepEqual(pick(await ask(tool, { file_path: path })).slice(0, 2), ['ask', 'HIGH'], `${tool} ${path}`)
  }
})

test('files that steer programs or the guard itself are not written unasked', async t => {
  const { ask } = world(t)
  const git = [
    '.git/config',
    '.git/hooks/pre-commit',
    '.GIT/hooks/pre-commit',
    '.git./config',
    'GIT~1/config',
    'sub/.git/HEAD',
  ]
  const agents = ['.claude/settings.json', '.claude/settings.local.json', '.Claude/Settings.json', '.mcp.json']
  for (const path of [
    ...git,
    '.g\u200cit/config',
    ...agents,
    '.perpetualcc.toml',
    '.perpetualcc/index.db',
    '.husky/pre-commit',
  ])
    assert.equal((await ask('Write', { file_path: path })).verdict, 'ask', path)
  assert.equal((await ask('Read', { file_path: '.claude/agents/reviewer.md' })).verdict, 'allow')
  assert.equal((await ask('Write', { file_path: '.claude/agents/reviewer.md' })).verdict, 'ask')
})

test('a search is allowed but for secrets', async t => {
  const { ask } = world(t)
  for (const input of [
    { pattern: '**/*.ts' },
    { pattern: 'src/**/*.{ts,tsx}', path: '.' },
    { pattern: '*.ts', path: 'src' },
    { pattern: 'src/deep' },
  ])
    assert.equal((await ask('Glob', input)).verdict, 'allow', JSON.stringify(input))
  for (const input of [{ pattern: 7 }, { pattern: '*', path: 7 }, { pattern: '~/.ssh/*' }])
    assert.equal((await ask('Glob', input)).verdict, 'ask', JSON.stringify(input))
  assert.equal((await ask('Grep', { pattern: 'password' })).verdict, 'allow')
  assert.equal((await ask('Grep', { pattern: 'x', path: 'src', glob: '*.ts' })).verdict, 'allow')
  for (const input of [
    { path: '.env' },
    { path: 'innocent.txt' },
    { path: '~/.ssh' },
    { glob: '.env*' },
    { glob: '**/*.pem' },
  ])
    assert.equal((await ask('Grep', { pattern: 'x', ...input })).verdict, 'ask', JSON.stringify(input))
})

test("the agent's own bookkeeping is allowed", async t => {
  const { ask } = world(t)
  for (const tool of ['TodoWrite', 'Task', 'Agent', 'ToolSearch', 'Skill', 'ExitPlanMode', 'BashOutput', 'TaskCreate'])
    assert.equal((await ask(tool, {})).verdict, 'allow', tool)
})

test('every unknown or malformed call is asked about', async t => {
  const { ask } = world(t)
  const calls: [string, Record<string, unknown>][] = [
    ['Bash', {}],
    ['mcp__files__read', { path: 'src/a.ts' }],
    ['Read', {}],
    ['Read', { file_path: ['src/a.ts'] }],
    ['Write', { path: 'src/a.ts' }],
    ['toString', {}],
    ['__proto__', {}],
    ['read', { file_path: 'src/a.ts' }],
    ['', {}],
  ]
  for (const [tool, input] of calls)
    assert.equal((await ask(tool, input)).verdict, 'ask', `${tool} ${JSON.stringify(input)}`)
  assert.equal((await ask('Bash', { command: 'rm -rf build' })).risk, 'HIGH')
})

test('a project as wide as a home directory is read but not written unasked', async t => {
  const { base, home, ask } = world(t)
  for (const project of [home, base, '/']) {
    const wide = { project, cwd: home }
    for (const file_path of ['notes.txt', 'src/a.ts'])
      assert.equal((await ask('Write', { file_path }, wide)).verdict, 'ask', `${project} ${file_path}`)
    assert.equal((await ask('Read', { file_path: 'notes.txt' }, wide)).verdict, 'allow')
    assert.equal((await ask('Read', { file_path: '.ssh/id_rsa' }, wide)).verdict, 'ask')
  }
})

test('with auto-approval off even a read inside the project is asked about', async t => {
  const { ask } = world(t)
  assert.equal((await ask('Read', { file_path: 'src/a.ts' }, { autoApproveLow: false })).verdict, 'ask')
})

function pick({ verdict, risk, by }: Verdict): string[] {
  return [verdict, risk, by]
}
