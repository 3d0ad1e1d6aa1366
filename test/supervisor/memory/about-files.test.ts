import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesAbout } from '../../../src/supervisor/memory/about-files.ts'
import { openProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { fact } from '../../memory/records.ts'
import { gitProject, tempDir } from '../../support/world.ts'

test('a text is bound to the files of the project that it names, and to nothing outside of it', t => {
  const [project, outside] = [tempDir(t), tempDir(t)]
  mkdirSync(join(project, 'src'))
  for (const name of ['src/a.ts', 'src/b.ts', 'Makefile', 'go.mod']) writeFileSync(join(project, name), 'hello\n')
  writeFileSync(join(outside, 'key'), 'secret')
  symlinkSync(outside, join(project, 'link'))
  symlinkSync(join(outside, 'key'), join(project, 'key.pem'))
  const text = `The Makefile reads src/a.ts:12, src/none.ts, ../${outside}/key, ${outside}/key, link/key and key.pem. And e.g. go.`
  const { about, missing } = filesAbout(project, text, ['src/b.ts', join(project, 'go.mod')])
  assert.deepEqual(about.map(({ path }) => path).sort(), ['Makefile', 'go.mod', 'src/a.ts', 'src/b.ts'])
  assert.equal(new Set(about.map(({ blob }) => blob)).size, 1)
  const named = execFileSync('git', ['hash-object', join(project, 'go.mod')], { encoding: 'utf8' }).trim()
  assert.equal(about[0]?.blob, named, 'the name that git gives to it')
  assert.deepEqual(missing, [])
  const refused = ['..', '../x', join(outside, 'key'), 'link/key', 'key.pem', 'src', 'none']
  assert.deepEqual(filesAbout(project, '', refused), { about: [], missing: refused })
})

test('a fact is not shown after its file has changed, until the file is what it was or somebody says it again', async t => {
  const project = gitProject(t)
  using memory = openProjectMemory({ memory: tempDir(t) })
  const [of] = await memory.keysOf(project)
  const file = join(project, 'cart.ts')
  const text = 'The cart in cart.ts rounds prices down.'
  const say = (fields: object = {}) => {
    const { about } = filesAbout(project, text)
    memory.write([fact(text, { of, time: Date.now(), about, ...fields })])
  }
  const shown = async () => (await memory.recall({ project, text: 'how does the cart round?' })).map(each => each.text)
  const tidy = async () => {
    while (!(await memory.tidy({ improves: false, retentionDays: 90 })));
  }
  const state = () => memory.broker.factsWithFiles([of]).map(({ ended_by, authority }) => `${ended_by} ${authority}`)

  writeFileSync(file, 'one')
  say()
  await tidy()
  assert.deepEqual([await shown(), state()], [[text], ['null person']])
  writeFileSync(file, 'two')
  assert.deepEqual([await shown(), state()], [[], ['null person']], 'nobody waits for the mark')
  await tidy()
  assert.deepEqual([await shown(), state()], [[], ['stale person']])
  memory.broker.rebuild()
  assert.deepEqual(state(), ['stale person'], 'the mark is in the log')
  writeFileSync(file, 'one')
  await tidy()
  assert.deepEqual([await shown(), state()], [[text], ['null person']])
  rmSync(file)
  await tidy()
  assert.deepEqual([await shown(), state()], [[], ['stale person']])
  writeFileSync(file, 'three')
  say({ actor: 'agent', authority: 'agent' })
  await tidy()
  assert.deepEqual([await shown(), state()], [[text], ['null agent']], 'now it is the word of an agent')
})

test('two processes that see the same change mark it once', async t => {
  const project = gitProject(t)
  const folder = tempDir(t)
  using one = openProjectMemory({ memory: folder })
  using other = openProjectMemory({ memory: folder })
  const [of] = await one.keysOf(project)
  await other.keysOf(project)
  writeFileSync(join(project, 'cart.ts'), 'one')
  const about = [{ path: 'cart.ts', blob: 'old' }]
  one.write([fact('It is in cart.ts', { of, time: 1, about })])
  for (const memory of [one, other, one]) while (!(await memory.tidy({ improves: false, retentionDays: 90 })));
  const marks = one.broker.records('move', { agent: 'person', role: null, session: null, projects: [], now: 0 })
  assert.deepEqual(
    marks.map(({ to, reason }) => [to, reason]),
    [['stale', 'changed or gone: cart.ts']],
  )
})
