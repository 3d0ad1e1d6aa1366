import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { LOCK_FILE, MANIFEST } from '../../../src/domain/package-managers.ts'
import type { ProjectCommand, ProjectFacts } from '../../../src/domain/project-facts.ts'
import { detectProject, proposeGateCommands } from '../../../src/workspace/detect/detect-project.ts'
import { openProjectReader, type ProjectReader, walkProject } from '../../../src/workspace/detect/project-files.ts'
import { codePoint } from '../../support/code-point.ts'
import { bareEnv } from '../../support/world.ts'
import { projectOf } from './project-of.ts'
import { SAMPLES } from './projects.ts'

const detect = (project: string) => detectProject(openProjectReader(project), project)

for (const { title, files, managers, commands } of SAMPLES) {
  test(`is recognised: ${title}`, async t => {
    const facts = await detect(projectOf(t, files))
    assert.deepEqual(managersOf(facts), managers)
    assert.deepEqual(commandsOf(facts), commands)
    assert.deepEqual(facts.problems, [])
  })
}

test('a set-up command is concluded from files whose change makes a used worktree be set up again', async t => {
  const seen = new Set<string>()
  for (const { files } of SAMPLES) {
    const { commands, units } = await detect(projectOf(t, files))
    for (const { kind, from, directory } of commands) {
      const unit = units.find(each => each.directory === directory)
      if (kind !== 'setup' || ['make', 'just', 'task'].includes(unit?.manager ?? '')) continue
      for (const text of [from, unit?.manager_from ?? '']) seen.add(text.replace(/(:| above).*/, ''))
    }
  }
  assert.ok(seen.size > 10)
  assert.deepEqual(
    [...seen].filter(name => !MANIFEST.test(name) && !LOCK_FILE.test(name)),
    [],
    'add it to src/domain/package-managers.ts',
  )
})

test('what a command was concluded from, and what is to be looked at first, is told', async t => {
  const scripts = { test: 'vitest --watch', lint: 'biome check --write', build: 'tsc' }
  const { commands } = await detect(projectOf(t, { 'package.json': JSON.stringify({ scripts }), 'yarn.lock': '' }))
  assert.deepEqual(
    commands.map(({ kind, from, declared, caution }) => [kind, from, declared, caution]),
    [
      ['setup', 'yarn.lock', false, undefined],
      ['build', 'package.json: scripts.build', true, undefined],
      ['lint', 'package.json: scripts.lint', true, 'it changes files'],
      ['test', 'package.json: scripts.test', true, 'it watches for changes and does not end by itself'],
    ],
  )
})

test('members of a workspace are listed with it', async t => {
  const facts = await detect(
    projectOf(t, {
      'package.json': '{"workspaces":["packages/*"]}',
      'packages/b/package.json': '{}',
      'packages/a/package.json': '{}',
    }),
  )
  assert.deepEqual(facts.units[0]?.members, ['packages/a', 'packages/b'])
})

test('languages are counted and folders of code are named, dependencies and what is built left out', async t => {
  const facts = await detect(
    projectOf(t, {
      'src/a.ts': '',
      'src/deep/b.tsx': '',
      'tests/c.py': '',
      'docs/d.md': '',
      'node_modules/x/y.js': '',
      'dist/z.js': '',
      '.hidden/h.rb': '',
    }),
  )
  assert.deepEqual(facts.languages, [
    { name: 'TypeScript', files: 2 },
    { name: 'Python', files: 1 },
  ])
  assert.deepEqual(facts.source_directories, ['src/', 'tests/'])
  assert.equal(facts.files, 4)
})

test('a broken, a huge and a binary manifest are named, and the rest is recognised all the same', async t => {
  const project = projectOf(t, {
    'package.json': '{"scripts": {',
    'yarn.lock': '',
    'Cargo.toml': '[package\n',
    'go.mod': 'module x',
    'api/composer.json': `{"a":"${'x'.repeat(2_100_000)}"}`,
    'lib/package.json': '[]',
  })
  writeFileSync(join(project, 'pyproject.toml'), Buffer.from([0xff, 0xfe, 0x00]))
  const facts = await detect(project)
  const problems = Object.fromEntries(facts.problems.map(({ file, problem }) => [file, problem]))
  assert.match(problems['package.json'] ?? '', /JSON/)
  assert.match(problems['Cargo.toml'] ?? '', /^line 1: /)
  assert.equal(problems['pyproject.toml'], 'it is not text in UTF-8')
  assert.equal(problems['api/composer.json'], 'it is larger than 2 MB, and was not read')
  assert.equal(problems['lib/package.json'], 'it holds no table of names and values')
  assert.ok(managersOf(facts).includes('yarn (yarn.lock)'))
  assert.ok(managersOf(facts).includes('go (go.mod)'))
})

test('names that mean something to JavaScript itself are only names', async t => {
  const text = '{"scripts":{"__proto__":"x","constructor":"y","toString":"z"},"workspaces":{"packages":"no list"}}'
  const facts = await detect(projectOf(t, { 'package.json': text }))
  assert.deepEqual(commandsOf(facts), ['setup: npm install'])
})

test('a link to a folder is not followed, so a circle has an end', async t => {
  const project = projectOf(t, { 'a/b.go': '' })
  symlinkSync(project, join(project, 'a', 'round'))
  const facts = await detect(project)
  assert.equal(facts.languages[0]?.files, 1)
})

test('a pipe under the name of a manifest keeps nobody waiting', async t => {
  const project = projectOf(t, { 'go.mod': 'module x' })
  execFileSync('mkfifo', [join(project, 'pipe')])
  symlinkSync('pipe', join(project, 'package.json'))
  const facts = await detect(project)
  assert.deepEqual(facts.problems, [{ file: 'package.json', problem: 'it is not a plain file' }])
  assert.deepEqual(managersOf(facts), ['npm (package.json)', 'go (go.mod)'])
})

test('whatever stands in the files, something is found or named, and every command is of our own words', async () => {
  const names = fc.constantFrom(
    ...['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'pyproject.toml', 'Cargo.toml', 'go.mod', 'pom.xml'],
    ...[
      'settings.gradle',
      'composer.json',
      'Gemfile',
      'Makefile',
      'justfile',
      'Taskfile.yml',
      'pubspec.yaml',
      'setup.cfg',
    ],
  )
  const value = fc.oneof(
    fc.jsonValue(),
    fc.record({ scripts: fc.jsonValue(), workspaces: fc.jsonValue(), tool: fc.jsonValue() }),
  )
  const content = fc.oneof(
    fc.string({ unit: codePoint }),
    value.map(each => JSON.stringify(each)),
    fc.constant('test:\n\tx\n'),
  )
  await fc.assert(
    fc.asyncProperty(fc.dictionary(names, content), async files => {
      const facts = await detectProject(readerFrom(files), '/nowhere')
      for (const { run } of facts.commands) assert.match(run, /^[a-z./][\w ./:@=-]*$/i)
    }),
    { numRuns: 100 },
  )
})

test('a project with more folders than are looked at is cut, the deepest first', async t => {
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`d${index}/deep/x.ts`, '']))
  const walked = await walkProject(openProjectReader(projectOf(t, { ...files, 'top.ts': '' })), {
    files: 1_000,
    folders: 31,
  })
  assert.equal(walked.isCut, true)
  assert.equal(walked.files, 1)
  assert.deepEqual(walked.folders.map(({ depth }) => depth).slice(-2), [1, 1])
})

test('a pattern of a workspace with too many stars is none, and costs nothing', async t => {
  const facts = await detect(
    projectOf(t, {
      'package.json': `{"workspaces":["${'*a'.repeat(40)}b"]}`,
      [`${'a'.repeat(200)}/package.json`]: '{}',
    }),
  )
  assert.equal(facts.units.length, 2)
})

test('the default branch is what the remote calls its head, else main or master, else what is checked out', async t => {
  const project = projectOf(t, { 'sub/x.ts': '' })
  assert.equal((await detect(project)).git, undefined)
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', project, ...args], { env: bareEnv(project), stdio: 'pipe' })
  git('init', '-q', '-b', 'trunk')
  assert.equal((await detect(project)).git?.default_branch, 'trunk')
  git('-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '-q', '--allow-empty', '-m', 'x')
  git('branch', 'master')
  assert.equal((await detect(project)).git?.default_branch, 'master')
  git('pack-refs', '--all')
  assert.equal((await detect(project)).git?.default_branch, 'master')
  git('update-ref', 'refs/remotes/origin/develop', 'HEAD')
  git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/develop')
  assert.deepEqual((await detect(join(project, 'sub'))).git, {
    top: project,
    default_branch: 'develop',
    branch_from: 'origin/HEAD',
  })
  const tree = join(project, 'tree')
  git('worktree', 'add', '-q', tree)
  assert.deepEqual((await detect(tree)).git, { top: tree, default_branch: 'develop', branch_from: 'origin/HEAD' })
})

test('a .git that is none, and a branch with an odd name, are not believed', async t => {
  const project = projectOf(t, { '.git/': '' })
  assert.equal((await detect(project)).git, undefined)
  mkdirSync(join(project, '.git'), { recursive: true })
  writeFileSync(join(project, '.git/HEAD'), 'ref: refs/heads/a\n# [permissions]\n')
  assert.equal((await detect(project)).git?.default_branch, undefined)
})

/** A reader of files in memory. */
function readerFrom(files: Record<string, string>): ProjectReader {
  return {
    read: async path => (files[path] === undefined ? undefined : { text: files[path] }),
    list: async path => (path === '.' ? Object.keys(files).map(name => ({ name, kind: 'file' as const })) : []),
  }
}

function managersOf({ units }: ProjectFacts): string[] {
  return units.map(
    ({ directory, manager, manager_from }) =>
      `${directory === '.' ? '' : `${directory}: `}${manager} (${manager_from})`,
  )
}

function commandsOf({ commands }: ProjectFacts): string[] {
  return commands.map(({ directory, kind, run }) => `${directory === '.' ? '' : `[${directory}] `}${kind}: ${run}`)
}

const command = (more: Partial<ProjectCommand>): ProjectCommand => ({
  ...{ kind: 'test', run: 'npm test', directory: '.', from: 'package.json', declared: true, ...more },
})

test('a command of the project itself is the gate as it is; one of a folder runs there; both run in turn', () => {
  const own = command({})
  const web = command({ run: 'pytest', directory: 'services/api', from: 'services/api/pyproject.toml' })
  const runs = (...commands: ProjectCommand[]) => proposeGateCommands(commands).map(({ run }) => run)
  assert.deepEqual(runs(own), ['npm test'])
  assert.deepEqual(runs(web), ['(cd services/api && pytest)'])
  assert.deepEqual(runs(own, web), ['npm test && (cd services/api && pytest)'])
})

test('a folder that a shell would read otherwise is left out, and a caution is handed on', () => {
  const strange = command({ directory: 'a; rm b' })
  assert.deepEqual(proposeGateCommands([strange]), [])
  const watches = command({ kind: 'lint', run: 'eslint', caution: 'it changes files' })
  assert.deepEqual(proposeGateCommands([command({}), watches, strange]), [
    { gate: 'lint', run: 'eslint', from: 'package.json', caution: 'it changes files' },
    { gate: 'test', run: 'npm test', from: 'package.json' },
  ])
})
