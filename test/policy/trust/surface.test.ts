import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { findNamedScripts, readSurface } from '../../../src/policy/trust/files.ts'
import { agreementFor, keepAgreement } from '../../../src/policy/trust/record.ts'
import { findClaudeFolders, findSurface } from '../../../src/policy/trust/surface.ts'
import {
  findChangedPaths,
  grantTrust,
  hashAll,
  hashesByPath,
  judgeSkill,
  trustStatus,
} from '../../../src/policy/trust/trust.ts'
import { tempDir } from '../../support/world.ts'

function folder(t: TestContext, files: Record<string, string> = {}): string {
  const root = realpathSync(tempDir(t))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}
/** The surface inside a folder, one line per file; files above it belong to the machine. */
async function surface(root: string, project = root): Promise<string[]> {
  const files = await findSurface(project)
  return files
    .filter(({ path }) => path.startsWith(`${root}/`))
    .map(({ path, kind, within }) => `${kind} ${path.slice(root.length + 1)} of ${within.slice(root.length) || '.'}`)
}

test('without git every folder up to the root counts for prompts, and vouches for itself', async t => {
  const root = folder(t, {
    'a/.claude/agents/x.md': '',
    '.claude/agents/y.md': '',
    '.claude/hooks/h.sh': '',
    'a/.claude/settings.json': '{}',
  })
  assert.deepEqual(await surface(root, join(root, 'a')), [
    'mcp a/.mcp.json of /a',
    'mcp .mcp.json of .',
    'prompts a/.claude/agents/x.md of /a',
    'prompts .claude/agents/y.md of .',
    'scripts .claude/hooks/h.sh of .',
    'settings a/.claude/settings.json of /a',
    'local a/.claude/settings.local.json of /a',
  ])
})

test('in a checkout its top vouches for all in it, and what is above counts for servers alone', async t => {
  const root = folder(t, {
    'top/.git/HEAD': '',
    'top/a/x': '',
    'top/.claude/commands/c.md': '',
    '.claude/agents/y.md': '',
  })
  assert.deepEqual(await surface(root, join(root, 'top/a')), [
    'mcp top/a/.mcp.json of /top',
    'mcp top/.mcp.json of /top',
    'mcp .mcp.json of .',
    'prompts top/.claude/commands/c.md of /top',
    'settings top/a/.claude/settings.json of /top',
    'local top/a/.claude/settings.local.json of /top',
    'local top/.claude/settings.local.json of /top',
  ])
})

test('of prompts only texts count, of skills only their heads, of workflows everything', async t => {
  const root = folder(t, {
    '.claude/agents/a.md': '',
    '.claude/agents/deep/b.MD': '',
    '.claude/agents/c.txt': '',
    '.claude/commands/d.md': '',
    '.claude/commands/e.mdx': '',
    '.claude/skills/s/SKILL.md': '',
    '.claude/skills/s/other.md': '',
    '.claude/skills/s/MYSKILL.md': '',
    '.claude/skills/t/skill.md': '',
    '.claude/workflows/w.js': '',
    '.claude/other/x.md': '',
  })
  const prompts = (await surface(root)).filter(line => line.startsWith('prompts')).map(line => line.split(' ')[1])
  assert.deepEqual(prompts.sort(), [
    '.claude/agents/a.md',
    '.claude/agents/deep/b.MD',
    '.claude/commands/d.md',
    '.claude/skills/s/SKILL.md',
    '.claude/skills/t/skill.md',
    '.claude/workflows/w.js',
  ])
})

test('a linked folder of prompts is looked through, and a link in a circle once', async t => {
  const root = folder(t, { 'shared/a.md': '', '.claude/agents/own.md': '' })
  symlinkSync(join(root, 'shared'), join(root, '.claude/agents/linked'))
  symlinkSync(join(root, '.claude/agents'), join(root, '.claude/agents/again'))
  symlinkSync(join(root, 'nowhere'), join(root, '.claude/agents/dangling.md'))
  const prompts = (await surface(root)).filter(line => line.startsWith('prompts')).map(line => line.split(' ')[1])
  assert.deepEqual(prompts.sort(), [
    '.claude/agents/dangling.md',
    '.claude/agents/linked/a.md',
    '.claude/agents/own.md',
  ])
})

test('in a worktree the local settings of the main checkout count, as git says where it is', async t => {
  const root = folder(t, {
    'main/.git/worktrees/w/commondir': '../..\n',
    'tree/.git': `gitdir: ../main/.git/worktrees/w\n`,
    'bare/.git': 'gitdir: ../none\n',
    'odd/.git': 'no such line\n',
  })
  const locals = async (name: string) =>
    (await surface(root, join(root, name))).filter(line => line.startsWith('local'))
  assert.deepEqual(await locals('tree'), [
    'local tree/.claude/settings.local.json of /tree',
    'local main/.claude/settings.local.json of /main',
  ])
  assert.deepEqual(await locals('bare'), ['local bare/.claude/settings.local.json of /bare'])
  assert.deepEqual(await locals('odd'), ['local odd/.claude/settings.local.json of /odd'])
})

test('folders with a .claude are found below a project, not in it, not through links and not in git', async t => {
  const root = folder(t, { '.claude/x': '', 'a/.claude/x': '', 'a/b/.claude/x': '', '.git/c/.claude/x': '', 'd/x': '' })
  symlinkSync(join(root, 'a'), join(root, 'e'))
  const found = { holders: [join(root, 'a'), join(root, 'a/b')], isCut: false }
  assert.deepEqual(await findClaudeFolders(root), found)
  assert.deepEqual(await findClaudeFolders(root, 1000), found)
  assert.equal((await findClaudeFolders(root, 2)).isCut, true)
})

test('a file is read through links, a link out of its place is told, and scripts are only hashed', async t => {
  const root = folder(t, { 'in/a': 'text', 'in-other/b': 'else' })
  symlinkSync(join(root, 'in-other/b'), join(root, 'in/out'))
  symlinkSync(join(root, 'in/a'), join(root, 'in/link'))
  symlinkSync(join(root, 'none'), join(root, 'in/dangling'))
  const read = (path: string, kind: 'mcp' | 'scripts' = 'mcp', within = join(root, 'in')) =>
    readSurface({ path: join(root, path), kind, within })
  const sha256 = '982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1'
  assert.deepEqual(await read('in/a'), { is: 'file', sha256, text: 'text' })
  assert.deepEqual(await read('in/link'), { is: 'file', sha256, text: 'text' })
  assert.deepEqual(await read('in/a', 'scripts'), { is: 'file', sha256, text: '' })
  assert.deepEqual(await read('in/a', 'mcp', '/'), { is: 'file', sha256, text: 'text' })
  const out = await read('in/out')
  assert.deepEqual(out.is === 'file' && out.outside, join(root, 'in-other/b'))
  assert.deepEqual(await read('in/dangling'), { is: 'absent' })
  assert.deepEqual(await read('in/a/below'), { is: 'absent' })
  assert.deepEqual(await read('in'), { is: 'unreadable', problem: 'not a regular file', target: join(root, 'in') })
  symlinkSync('loop', join(root, 'in/loop'))
  assert.equal((await read('in/loop')).is, 'unreadable')
  assert.deepEqual(await readSurface({ path: '/x', kind: 'prompts', within: '/', problem: 'too many' }), {
    is: 'unreadable',
    problem: 'too many',
    target: '/x',
  })
})

test('two sets of files differ by content, by name and by order alone not', () => {
  const file = (path: string, sha256: string) => ({ path, sha256, kind: 'mcp' as const, contains: [] })
  assert.deepEqual(hashesByPath([file('a', '1'), file('b', '2')]), { a: '1', b: '2' })
  assert.notEqual(hashAll([file('a', '1')]), hashAll([file('a', '2')]))
  assert.notEqual(hashAll([file('a', '1')]), hashAll([file('b', '1')]))
  assert.notEqual(hashAll([file('a', '1'), file('b', '2')]), hashAll([file('a', '1')]))
  assert.deepEqual(findChangedPaths({ c: '1', a: '1', b: '1' }, { d: '1', a: '1', b: '2' }), ['b', 'c', 'd'])
  assert.deepEqual(findChangedPaths({ a: '1' }, { a: '1' }), [])
})

test('an agreement is kept and taken back for one project, beside those of others', async t => {
  const paths = appPathsFor({ env: { HOME: tempDir(t) } })
  mkdirSync(paths.home, { recursive: true })
  const agreement = { hash: 'h', since: 5, files: { a: '1' } }
  assert.equal(await agreementFor(paths, '/a'), undefined)
  assert.equal(await keepAgreement(paths, { project: '/a' }), false)
  assert.equal(await keepAgreement(paths, { project: '/a', agreement }), false)
  assert.equal(await keepAgreement(paths, { project: '/b', agreement }), false)
  assert.equal(await keepAgreement(paths, { project: '/a', agreement: { ...agreement, since: 6 } }), true)
  assert.deepEqual(await agreementFor(paths, '/a'), { ...agreement, since: 6 })
  assert.equal(await agreementFor(paths, 'toString'), undefined)
  assert.equal(await keepAgreement(paths, { project: '/a' }), true)
  assert.deepEqual([await agreementFor(paths, '/a'), await agreementFor(paths, '/b')], [undefined, agreement])
  writeFileSync(paths.trustFile, '{"version":2,"projects":{}}')
  await assert.rejects(agreementFor(paths, '/b'), { code: 'trust_file_invalid', message: /version/ })
})

test('scripts are found by the words of a text, inside the place that is vouched for', async t => {
  const root = folder(t, {
    'p/a.sh': '',
    'p/with space.js': '',
    'p/plain': '',
    'p/dir.d/x': '',
    'p-x/b.sh': '',
    'p/sub/c.py': '',
  })
  const named = async (text: string, project = join(root, 'p'), within = join(root, 'p')) =>
    (await findNamedScripts(text, project, within)).map(path => path.slice(root.length + 1)).sort()
  assert.deepEqual(await named('sh a.sh && python sub/c.py'), ['p/a.sh', 'p/sub/c.py'])
  assert.deepEqual(await named('{"command":"node \\"with space.js\\""}'), [])
  assert.deepEqual(await named('["with space.js", " a.sh "]'), ['p/a.sh', 'p/with space.js'])
  assert.deepEqual(await named('plain ./plain'), ['p/plain'])
  assert.deepEqual(await named('plain'), [], 'a bare word is a program')
  assert.deepEqual(await named('dir.d'), [], 'a folder is no script')
  assert.deepEqual(await named('../p-x/b.sh'), [])
  assert.deepEqual(await named('../p-x/b.sh', join(root, 'p'), root), ['p-x/b.sh'])
  for (const variable of [
    '$CLAUDE_PROJECT_DIR',
    '${CLAUDE_PROJECT_DIR}',
    '$PWD',
    '"$CLAUDE_PROJECT_DIR"',
    '\\"$CLAUDE_PROJECT_DIR\\"',
    "'$PWD'",
  ])
    assert.deepEqual(await named(`${variable}/a.sh`), ['p/a.sh'], variable)
  for (const written of [
    'x > a.sh',
    'x >> a.sh',
    'x >| a.sh',
    'x >a.sh',
    'x > "a.sh"',
    '"touch a.sh',
    '; rm a.sh',
    '|tee a.sh',
    '(mkdir a.sh',
  ])
    assert.deepEqual(await named(written), [], written)
  for (const run of ['x -> a.sh', 'x => a.sh', 'x <> a.sh', 'x; touchy a.sh', 'x touch a.sh', '"touch x; a.sh'])
    assert.deepEqual(await named(run), ['p/a.sh'], run)
})

test('a skill or a subagent of the project waits for a yes, others do not', async t => {
  const project = folder(t, { '.claude/skills/s/SKILL.md': '---\nhooks: {}\n---\n' })
  execFileSync('git', ['init', '-q'], { cwd: project, env: { PATH: process.env['PATH'] ?? '', HOME: project } })
  const paths = appPathsFor({ env: { HOME: tempDir(t) } })
  const verdict = async (
    tool: string,
    input: Record<string, unknown> = {},
    settingSources: ('user' | 'project' | 'local')[] = ['project'],
  ) => (await judgeSkill({ tool, input }, { paths, project, settingSources }))?.reason
  assert.match(
    (await verdict('Skill')) ?? '',
    /^\.claude\/skills\/s\/SKILL\.md can run code .* go on without skills\. .* pcc trust \//,
  )
  assert.ok(await verdict('SlashCommand'))
  assert.equal(await verdict('Skill', {}, ['user', 'local']), undefined)
  assert.equal(await verdict('Bash'), undefined)
  assert.equal(await verdict('Task', { subagent_type: 'x' }), undefined, 'a skill is no subagent')
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    mkdirSync(join(project, '.claude/agents'), { recursive: true })
    writeFileSync(join(project, `.claude/agents/${name}.md`), '---\nhooks: {}\n---\n')
  }
  assert.match(
    (await verdict('Agent', { subagent_type: 'x' })) ?? '',
    /^\.claude\/agents\/a\.md, \.claude\/agents\/b\.md, \.claude\/agents\/c\.md and 2 more can .* without that subagent/,
  )
  assert.match((await verdict('Task', { subagent_type: 'x' })) ?? '', /and 2 more/)
  assert.equal(await verdict('Task', {}), undefined, 'the standard subagent is no file')
  assert.match((await verdict('Skill')) ?? '', /and 3 more/)
  const denied = await judgeSkill({ tool: 'Skill', input: {} }, { paths, project, settingSources: ['project'] })
  assert.deepEqual(
    { ...denied, reason: '' },
    { verdict: 'deny', risk: 'HIGH', reason: '', confidence: 1, by: 'policy' },
  )
  await grantTrust(paths, await trustStatus(paths, project))
  assert.equal(await verdict('Skill'), undefined)
})
