import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Request } from '../../src/domain/session.ts'
import { decide, type PolicyContext } from '../../src/policy/decide.ts'
import { realPathOf } from '../../src/policy/real-path.ts'
import { tempDir } from '../support/world.ts'

/** A project with links of every kind, a sibling with a longer name, and a home beside it. */
function world(t: TestContext) {
  const base = realPathOf(tempDir(t)) ?? ''
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
  const context: PolicyContext = { project, home, realPath: realPathOf, autoApproveLow: true }
  const ask = (tool: string, input: Record<string, unknown>, more: Partial<Request> = {}) =>
    decide({ callId: 'c', tool, input, cwd: project, ...more }, context)
  return { base, project, home, context, ask }
}

test('reads and writes inside the project are allowed, by their absolute, relative or linked path', t => {
  const { project, ask } = world(t)
  for (const path of [
    'src/a.ts',
    './src/../src/a.ts',
    join(project, 'src/a.ts'),
    'inner/a.ts',
    'src/new/deep/file.ts',
    'src/..dots/file.ts',
    '...three',
    'src/ümlaut file.ts',
    '.gitignore',
    '.github/workflows/ci.yml',
    'CLAUDE.md',
  ]) {
    for (const tool of ['Read', 'Write', 'Edit', 'MultiEdit']) {
      const verdict = ask(tool, { file_path: path })
      assert.deepEqual([verdict.verdict, verdict.risk, verdict.by], ['allow', 'LOW', 'policy'], `${tool} ${path}`)
    }
    assert.equal(ask('NotebookEdit', { notebook_path: path }).verdict, 'allow')
  }
})

test('nothing outside the project is touched unasked, however it is spelled', t => {
  const { base, home, ask } = world(t)
  for (const path of [
    '/etc/passwd',
    '../outside/x',
    'src/../../outside/x',
    join(base, 'app-secrets/x'),
    '../app-secrets/x',
    base,
    '~',
    '~/notes.txt',
    '~root/x',
    join(home, 'notes.txt'),
    'out/x',
    'out/new',
    'x-link',
    'dangling',
    'dangling/below',
    'out/../src/a.ts',
    'loop',
    'loop/x',
    'src/a.ts/below',
    ' /etc/passwd',
    '/etc/passwd ',
    'src/a.ts\n',
    'src\\..\\..\\outside',
    'src/\0x',
    '$HOME/x',
    'file:///etc/passwd',
    '',
  ]) {
    for (const tool of ['Read', 'Write', 'Edit']) {
      const verdict = ask(tool, { file_path: path })
      assert.equal(verdict.verdict, 'ask', `${tool} ${JSON.stringify(path)}: ${verdict.reason}`)
      assert.notEqual(verdict.risk, 'LOW')
    }
  }
})

test('a relative path begins where the call stands, not where the project begins', t => {
  const { base, project, ask } = world(t)
  assert.equal(ask('Read', { file_path: '../a.ts' }, { cwd: join(project, 'src/deep') }).verdict, 'allow')
  assert.equal(ask('Read', { file_path: 'a.ts' }, { cwd: join(base, 'outside') }).verdict, 'ask')
})

test('files with secrets and files that steer programs are asked about inside the project too', t => {
  const { ask } = world(t)
  for (const path of [
    '.env',
    '.env.local',
    '.ENV',
    '.envrc',
    'src/.env.production',
    'innocent.txt',
    'certs/server.pem',
    'deploy.KEY',
    'id_rsa',
    'id_ed25519.pub',
    '.git/config',
    '.git/hooks/pre-commit',
    '.GIT/hooks/pre-commit',
    '.g\u200cit/config',
    '.git./config',
    'GIT~1/config',
    'sub/.git/HEAD',
    '.claude/settings.json',
    '.claude/settings.local.json',
    '.Claude/Settings.json',
    '.mcp.json',
    '.perpetualcc.toml',
    '.perpetualcc/index.db',
    '.npmrc',
    'config/credentials.json',
    'secrets.yaml',
    '.ssh/config',
    '.husky/pre-commit',
  ]) {
    for (const tool of ['Read', 'Write']) {
      const verdict = ask(tool, { file_path: path })
      assert.deepEqual([verdict.verdict, verdict.risk], ['ask', 'HIGH'], `${tool} ${path}`)
    }
  }
  assert.equal(ask('Read', { file_path: '.claude/agents/reviewer.md' }).verdict, 'allow')
  assert.equal(ask('Write', { file_path: '.claude/agents/reviewer.md' }).verdict, 'ask')
})

test('a search is as wide as its folder and its pattern', t => {
  const { base, ask } = world(t)
  for (const input of [
    { pattern: '**/*.ts' },
    { pattern: 'src/**/*.{ts,tsx}', path: '.' },
    { pattern: '*.ts', path: 'src' },
    { pattern: 'src/deep' },
  ]) {
    assert.equal(ask('Glob', input).verdict, 'allow', JSON.stringify(input))
  }
  for (const input of [
    { pattern: '/etc/*' },
    { pattern: '../**' },
    { pattern: 'src/*/../../../**' },
    { pattern: '{src,/etc}/*' },
    { pattern: '{/etc,src}/*' },
    { pattern: '~/**' },
    { pattern: '*', path: '/' },
    { pattern: '*', path: '..' },
    { pattern: '*', path: 'out' },
    { pattern: 'out/*' },
    { pattern: '*', path: join(base, 'app-secrets') },
    { pattern: 7 },
    { pattern: '*', path: 7 },
  ]) {
    assert.equal(ask('Glob', input).verdict, 'ask', JSON.stringify(input))
  }
  assert.equal(ask('Grep', { pattern: 'password' }).verdict, 'allow')
  assert.equal(ask('Grep', { pattern: 'x', path: 'src', glob: '*.ts' }).verdict, 'allow')
  for (const input of [{ path: '.env' }, { path: '.git' }, { glob: '.env*' }, { glob: '**/*.pem' }, { path: '/' }]) {
    assert.equal(ask('Grep', { pattern: 'x', ...input }).verdict, 'ask', JSON.stringify(input))
  }
})

test("the agent's own bookkeeping is allowed", t => {
  const { ask } = world(t)
  for (const tool of [
    'TodoWrite',
    'Task',
    'Agent',
    'ToolSearch',
    'Skill',
    'ExitPlanMode',
    'BashOutput',
    'TaskCreate',
  ]) {
    assert.equal(ask(tool, {}).verdict, 'allow', tool)
  }
})

test('commands, the network and every unknown or malformed call are asked about', t => {
  const { ask } = world(t)
  const calls: [string, Record<string, unknown>][] = [
    ['Bash', { command: 'ls' }],
    ['Bash', {}],
    ['WebFetch', { url: 'https://example.invalid' }],
    ['mcp__files__read', { path: 'src/a.ts' }],
    ['Read', {}],
    ['Read', { file_path: ['src/a.ts'] }],
    ['Write', { path: 'src/a.ts' }],
    ['toString', {}],
    ['__proto__', {}],
    ['read', { file_path: 'src/a.ts' }],
    ['', {}],
  ]
  for (const [tool, input] of calls) assert.equal(ask(tool, input).verdict, 'ask', `${tool} ${JSON.stringify(input)}`)
  assert.equal(ask('Bash', { command: 'rm -rf build' }).risk, 'HIGH')
  assert.equal(ask('Bash', { command: 'npm test' }).risk, 'MEDIUM')
})

test('a project as wide as a home directory is read but not written unasked', t => {
  const { base, home, context } = world(t)
  for (const project of [home, base, '/']) {
    const wide = { ...context, project }
    const request = { callId: 'c', cwd: home, input: { file_path: 'notes.txt' } }
    assert.equal(decide({ ...request, tool: 'Write' }, wide).verdict, 'ask')
    assert.equal(decide({ ...request, tool: 'Read' }, wide).verdict, 'allow')
    assert.equal(decide({ ...request, tool: 'Read', input: { file_path: '.ssh/id_rsa' } }, wide).verdict, 'ask')
  }
})

test('with auto-approval off even a read inside the project is asked about', t => {
  const { project, context } = world(t)
  const request = { callId: 'c', tool: 'Read', cwd: project, input: { file_path: 'src/a.ts' } }
  assert.equal(decide(request, { ...context, autoApproveLow: false }).verdict, 'ask')
})
