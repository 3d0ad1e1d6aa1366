import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sessionMarker } from '../../../../src/base/process/marker.ts'
import type { TaskView } from '../../../../src/domain/task.ts'
import { onTerminal } from '../../../e2e/pty.ts'
import { bareEnv, makeRepository } from '../../../support/world.ts'
import { projectOf } from '../../../workspace/detect/project-of.ts'
import { pccFor } from '../../pcc.ts'

const git = (project: string, ...args: string[]) =>
  execFileSync('git', ['-C', project, ...args], {
    env: bareEnv(project),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

test('pcc init recognises a project, says what it wrote and what comes next; a second time it changes nothing', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'package.json': '{"scripts":{"test":"jest"}}', 'yarn.lock': '', 'src/a.ts': '' })
  git(project, 'init', '-q', '-b', 'main')
  mkdirSync(join(pcc.home, '.copilot'))
  const first = await pcc.run(['init'], { cwd: project })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /! pcc does not judge the calls of .*Copilot CLI .*: pcc hooks install\n/)
  assert.match(first.stdout, /Examined the project: 3 files, TypeScript\n/)
  assert.match(first.stdout, /yarn, by yarn\.lock/)
  assert.match(first.stdout, /Default branch main/)
  assert.match(first.stdout, /test +yarn test +package\.json: scripts\.test/)
  assert.match(first.stdout, /created {2}\.perpetualcc\.toml/)
  assert.match(first.stdout, /pcc start \. --task .*\n +pcc task import plan\.md\n +pcc run \.\n/)
  assert.match(
    first.stdout,
    /Commit these.*: git add \.perpetualcc\.toml .*\.gitignore && git commit -m "Set up pcc" -- /,
  )
  const seen = git(project, 'status', '--short', '-uall')
    .split('\n')
    .map(line => line.slice(3))
    .filter(Boolean)
  assert.deepEqual(
    seen.filter(path => path.startsWith('.')),
    [
      '.claude/skills/check-your-work/SKILL.md',
      '.claude/skills/plan-tasks/SKILL.md',
      '.claude/skills/project-notes/SKILL.md',
      '.gitignore',
      '.perpetualcc.toml',
      '.perpetualcc/README.md',
    ],
  )
  for (const [path, isLeftOut] of [
    ['index/x', true],
    ['task.json', true],
    ['features/a/spec.md', false],
    ['knowledge/n.md', false],
    ['rules.toml', false],
  ] as const) {
    const file = `.perpetualcc/${path}`
    mkdirSync(join(project, file, '..'), { recursive: true })
    writeFileSync(join(project, file), '')
    assert.equal(git(project, 'status', '--short', '-uall').includes(file), !isLeftOut, file)
  }
  const second = await pcc.run(['init'], { cwd: project })
  assert.match(second.stdout, /was set up already; nothing was changed/)
  assert.doesNotMatch(second.stdout, /created|changed {2}/)
  const trust = await pcc.run(['trust', 'status', project])
  assert.match(trust.stdout, /gates\.test = yarn test\n\nNot trusted/, 'the gates that were found, and no other file')
  const settings = await pcc.run(['config', 'show', '--origin'], { cwd: project })
  assert.equal(settings.code, 0, settings.stderr)
})

test('pcc init --json has a stable shape, and --dry-run writes nothing and starts nothing', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'go.mod': 'module x', 'list.md': '- [ ] One\n- [ ] Two\n' })
  const args = ['init', project, '--dry-run', '--json', '--skip-index', '--requirements', join(project, 'list.md')]
  const { code, stdout, stderr } = await pcc.run(args)
  assert.equal(code, 0, stderr)
  const answer = JSON.parse(stdout)
  assert.deepEqual(Object.keys(answer), ['project', 'dry_run', 'facts', 'files', 'tasks', 'remarks', 'next', 'index'])
  assert.equal(answer.dry_run, true)
  assert.deepEqual([answer.facts.git, answer.index], [null, null])
  assert.equal(answer.facts.units[0].manager, 'go')
  assert.deepEqual(answer.files[0], { path: '.perpetualcc.toml', outcome: 'created' })
  assert.deepEqual(answer.tasks, { file: join(project, 'list.md'), count: 2, added: [], known: 0, above: null })
  assert.deepEqual(answer.next, [`pcc run ${project} --dry-run`, `pcc run ${project}`])
  assert.match(answer.remarks.join('\n'), /not a git repository/)
  assert.deepEqual(readdirSync(project).sort(), ['go.mod', 'list.md'])
  assert.equal(existsSync(join(pcc.home, 'pcc/run')), false)
  assert.match((await pcc.run(args.filter(each => each !== '--json'))).stdout, /would create {2}\.perpetualcc\.toml/)
})

test('a home directory, what holds it and the root are refused unless --force asks for it', async t => {
  const pcc = pccFor(t)
  for (const path of [pcc.home, join(pcc.home, '..'), '/']) {
    const { code, stderr } = await pcc.run(['init', path])
    assert.equal(code, 2)
    assert.match(stderr, /home directory, which is hardly a single project[\s\S]*--force/)
  }
  assert.equal(existsSync(join(pcc.home, '.perpetualcc.toml')), false)
  assert.equal((await pcc.run(['init', pcc.home, '--force'])).code, 0)
  assert.equal(existsSync(join(pcc.home, '.perpetualcc.toml')), true)
})

test('a path that is not a directory, and one that is not writable, are reported in one sentence', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { file: '' })
  assert.match((await pcc.run(['init', join(project, 'gone')])).stderr, /does not exist/)
  assert.match((await pcc.run(['init', join(project, 'file')])).stderr, /is not a directory/)
  // Nobody, not even root, can create a file here.
  const { code, stderr } = await pcc.run(['init', '/proc/sys/kernel'])
  assert.equal(code, 1)
  assert.match(stderr, /Nothing can be written in \/proc\/sys\/kernel: .*Nothing was changed/)
})

test('at a terminal it commits what it wrote and nothing that a person had changed, and installs hooks after two yeses', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'package.json': '{"scripts":{"test":"jest"}}', '.gitignore': 'dist\n' })
  makeRepository(project)
  writeFileSync(join(project, 'package.json'), '{}')
  writeFileSync(join(project, '.perpetualcc.toml'), 'version = 1\n')
  mkdirSync(join(pcc.home, '.copilot'))
  const terminal = onTerminal(t, pcc, ['init', project])
  await terminal.see(/Commit these 5 files now\? \[Y\/n\]/)
  terminal.type('\r')
  await terminal.see(/Committed: Set up pcc/)
  await terminal.see(/Let pcc also judge the calls of [\s\S]*Copilot CLI [\s\S]*\[Y\/n\]/)
  terminal.type('\r')
  await terminal.see(/"preToolUse": \[[\s\S]*Change these settings\? \[y\/N\]/)
  assert.equal(existsSync(join(pcc.home, '.copilot/hooks')), false)
  terminal.type('yes\r')
  await terminal.see(/Copilot CLI: installed/)
  assert.equal(await terminal.exit, 0)
  assert.equal(existsSync(join(pcc.home, '.copilot/hooks/pcc.json')), true)
  assert.equal(git(project, 'status', '--short', '-uall'), ' M package.json\n?? .perpetualcc.toml\n')
  assert.match(git(project, 'show', '--stat', '--format=%s'), /^Set up pcc\n[\s\S]*\.gitignore/)
})

test('in a terminal pcc init asks which models runs use, and a choice other than the default stands in the settings', async t => {
  const pcc = pccFor(t)
  for (const [typed, line] of [
    ['2', /^model_strategy = "escalate"$/m],
    ['', /^# model_strategy = "cost-optimized"$/m],
  ] as const) {
    const project = projectOf(t, { 'a.txt': '' })
    const terminal = onTerminal(t, pcc, ['init', project])
    await terminal.see(/Which model shall the tasks[\s\S]*1\. cost-optimized: the small model[\s\S]*\[1\]/)
    terminal.type(`${typed}\r`)
    assert.equal(await terminal.exit, 0)
    assert.match(readFileSync(join(project, '.perpetualcc.toml'), 'utf8'), line)
    writeFileSync(join(project, 'package.json'), '{"scripts":{"test":"jest"}}')
    assert.match((await pcc.run(['init', project])).stdout, /changed +\.perpetualcc\.toml/)
    assert.match(readFileSync(join(project, '.perpetualcc.toml'), 'utf8'), line, 'a later init keeps it')
  }
})

test('the tasks of a file are imported once, under a task with the rest of its text; an invalid file stops everything before it begins', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, {
    'wrong.yaml': 'tasks:\n  - id: a\n    description: x\n    depends_on: [nobody]\n',
    'list.md': '# Shop\n\nSells things.\n\n## Tasks\n- [x] Old\n- [ ] Build the API\n- [ ] Write the docs\n',
  })
  const wrong = await pcc.run(['init', project, '--requirements', join(project, 'wrong.yaml')])
  assert.equal(wrong.code, 2)
  assert.equal(existsSync(join(project, '.perpetualcc.toml')), false)

  const take = () => pcc.run(['init', project, '--requirements', join(project, 'list.md')])
  const first = await take()
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /Imported 2 tasks of .*list\.md; the rest of its text is in t-[0-9a-f]{6}\. See them/)
  assert.match(first.stdout, /pcc run \S+ --dry-run/)
  const list = async () =>
    (JSON.parse((await pcc.run(['task', 'list', '--project', project, '--json'])).stdout) as { tasks: TaskView[] })
      .tasks
  const tasks = await list()
  const parent = tasks.find(({ title }) => title === 'Shop')
  assert.match(parent?.description ?? '', /Sells things\./)
  assert.deepEqual(
    tasks.filter(({ parent_id }) => parent_id === parent?.id).map(({ title }) => title),
    ['Build the API', 'Write the docs'],
  )
  writeFileSync(join(project, 'list.md'), `${readFileSync(join(project, 'list.md'), 'utf8')}- [ ] Ship it\n`)
  assert.match((await take()).stdout, /Imported 1 task of .*list\.md, 2 existed already/)
  assert.equal((await list()).find(({ title }) => title === 'Ship it')?.parent_id, parent?.id)
  assert.match((await take()).stdout, /Imported 0 tasks of .*list\.md, 3 existed already/)
})

test('settings further up in the same checkout stay in force, and invalid settings are named and kept', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, { 'app/x.ts': '', '.perpetualcc.toml': '[sessions]\nmax_concurrent = "five"\n' })
  git(project, 'init', '-q')
  const below = await pcc.run(['init', join(project, 'app')])
  assert.match(below.stdout, /left +\.perpetualcc\.toml .*applies here/)
  assert.equal(existsSync(join(project, 'app/.perpetualcc.toml')), false)
  assert.equal(existsSync(join(project, 'app/.perpetualcc/features')), true)
  const at = await pcc.run(['init', project])
  assert.equal(at.code, 0)
  assert.match(at.stdout, /\.perpetualcc\.toml:2: sessions\.max_concurrent: expected .*left as it is/)
  assert.match(readFileSync(join(project, '.perpetualcc.toml'), 'utf8'), /"five"/)
})

test('inside a session pcc init is refused', async t => {
  const pcc = pccFor(t)
  const project = projectOf(t, {})
  const { name, value } = sessionMarker('s-1')
  const { code, stderr } = await pcc.run(['init', project], { env: { [name]: value } })
  assert.notEqual(code, 0)
  assert.match(stderr, /pcc init/)
  assert.deepEqual(readdirSync(project), [])
})
